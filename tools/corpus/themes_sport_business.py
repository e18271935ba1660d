"""Rules of two themes: sport (matches, results and transfers) and business (companies, shares and
products).
"""

SPORT = r"""
~S_theme
  3 @club-subject:nsubj VP_win
  2 @subject:nsubj VP_theme_any
  1.5 NP_named VP_theme_any
  1 @subject:nsubj VP_beat
  1 @country-subject:nsubj VP_win
  1 NP_match VP_passive
  0.8 @club-subject:nsubj VP_themeD CC_and VP_themeD:conj
  0.8 @subject:nsubj VP_themeD PP_time SBAR_adv
VP_theme_any
  2 VP_themeD
  1.5 VP_themeD PP_time
  1 VP_themeD SBAR_adv
  1 had/VBD:aux VP_themeN
  1 MD_will VP_themeB
  0.7 VP_themeD ,/, S_winning:advcl
S_winning
  VP_themeG
VP_win
  3 VBD_beat @club (CD_result:obl) (PP_place)
  1 VBD_beat @country (CD_result:obl)
  1 VBD_draw PP_withclub
  1 VP_themeD
  1 VBD_lead @club PP_time
VP_beat
  VBD_beat @person CD_set:obl ,/, CD_set:conj PP_inevent
  VBD_beat @person PP_inevent
  VBD_beat NP_player PP_inevent
NP_player
  @person PRN_of
PRN_of :dep
  -LRB-/-LRB- @country* -RRB-/-RRB-
  of/IN:case @country*
PP_withclub
  with/IN @club
  against/IN @club
  at/IN @club
PP_inevent
  in/IN NP_stage
  at/IN the/DT @event
NP_stage
  the/DT NN_stage PP_ofevent
  the/DT @event
  the/DT @event NN_stage
PP_ofevent
  of/IN the/DT @event
NP_match
  the/DT NN_stage PP_against
  a/DT NN_stage PP_against
  the/DT @event
PP_against
  against/IN @club
  between/IN NP_twoclubs
  with/IN @country
NP_twoclubs
  @club and/CC:cc @club:conj
  @country and/CC:cc @country:conj
VP_theme%
  2 V%_score NP_goal PP_against
  2 V%_win NP_stage
  1.5 V%_play PP_withclub
  1 V%_sign @person PP_fromclub
  1 V%_win the/DT @event PP_place
  1 V%_join @club
  0.7 V%_beat @club
  0.7 V%_beat @person
PP_fromclub
  from/IN @club
  for/IN NP_money
NP_goal
  CD_few NNS_goal
  the/DT JJ_goal NN_goal
NP_money
  $/$ CD_money CD_unit*
S_head
  @club VP_headsport
  @person VP_headsport
  @country VP_headsport
VP_headsport
  VBZ_win @event
  VBZ_beat @club PP_inheadevent
  VBZ_beat @person
  VBZ_win NN_stage PP_headplace
PP_inheadevent
  IN/IN @event
  AT/IN @ground
PP_headplace
  in/IN @town
FRAG_line
  2 @club* CD_score:nummod @club:conj CD_score^:nummod
  1.5 CD_rank:dep @person-full* PRN_of CD_time:dep
  1 @person-full* PRN_of VBD_beat:parataxis @person-full:obj PRN_of CD_set:dep CD_set:dep
  1 @country* CD_score:nummod @country:conj CD_score^:nummod
  1 NNS_scorers* :/: @person:appos CD_time:dep ,/, @person:conj CD_time:dep
  0.7 @club* CD_few:dep CD_score:dep CD_score:dep CD_big:dep
  0.6 @ground* :/: @club:appos v/IN:case @club:dep
NNS_scorers = Scorers Substitutes Goals
CD_rank = 1. 2. 3. 4. 5. 6. 7.
CD_time = 12 34 57 81 2:11.4 9.98 44.20 1:58.07
CD_set = 6-4 7-5 6-3 6-2 7-6
CD_result = 2-1 3-0 1-0 4-2 98-91 24-17
NN_stage = final semifinal match opener race game
NNS_goal = goals points runs wickets
NN_goal = goal winner equaliser penalty
JJ_goal = second late opening decisive
verbs win = win won won winning, lose lost lost losing
verbs score = score scored scored scoring, miss missed missed missing
verbs play = play played played playing, struggle struggled struggled struggling
verbs sign = sign signed signed signing, buy bought bought buying
verbs beat = beat beat beaten beating, defeat defeated defeated defeating, face faced faced facing
VBD_draw = drew lost played
VBD_lead = led trailed overtook
"""

BUSINESS = r"""
~S_theme
  3 @company-subject:nsubj VP_theme_any
  1.5 NP_shares VP_move
  1.5 @company-subject:nsubj VP_buy
  1 NP_product VP_passive
  1 NP_named VP_theme_any
  1 @company-subject:nsubj VP_themeD SBAR_adv
  0.7 @agency:nsubj VP_themeD
VP_theme_any
  2 VP_themeD
  1.5 VP_themeD PP_time
  1 VP_themeD SBAR_adv
  1 has/VBZ:aux VP_themeN
  1 MD_will VP_themeB
  0.7 VP_themeD ,/, S_cutting:advcl
  0.6 VP_themeD CC_and VP_themeD:conj
S_cutting
  VP_themeG
VP_buy
  VBD_buy @company PP_formoney
  VBD_buy NP_stake PP_fromcomp
  VBD_buy NP_unit
NP_unit
  NP_poss_company JJ_unit NN_unit
  the/DT @town NN_unit
  @company stock/NN
NP_poss_company
  @company 's/POS
  @town 's/POS
  @country 's/POS
NP_stake
  NP_percent PP_incomp
NP_percent
  a/DT CD_pct:nummod percent/NN:compound stake/NN
PP_incomp
  in/IN @company
PP_fromcomp
  from/IN @company
  from/IN @country
PP_formoney
  for/IN NP_money
  from/IN @person
NP_money
  $/$ CD_money CD_unit*
NP_shares
  shares/NNS PP_inco
  NP_poss_company NNS_results
  @company NNS_results
  @town NN_crop NNS_results
PP_inco
  in/IN @company
  of/IN @company
VP_move
  VBD_move NP_pc:obl
  VBD_move NP_pc:obl PP_tomoney
  VBD_move RB_move PP_time
NP_pc
  CD_pct percent/NN
PP_tomoney
  to/TO NP_money
NP_product
  the/DT @product
  NP_poss_company @product
  the/DT @company @product*
VP_theme%
  2 V%_cut NP_cutjobs PP_place
  1.5 V%_sell NP_unit PP_tobuyer
  1.5 V%_make the/DT @product (PP_place)
  1 V%_open NP_plant PP_place
  1 V%_buy @company
  1 V%_hire @person ADVP_from
  0.8 V%_sell @product PP_place
NP_cutjobs
  CD_big NNS_job
ADVP_from
  RB_move
NP_plant
  a/DT NN_unit
  a/DT NN_unit PP_onwater
PP_onwater
  on/IN the/DT @river
  for/IN the/DT @product
PP_tobuyer
  to/TO @company
  to/TO @country
  to/TO @person
S_head
  @company VP_headbiz
  @town VP_headbiz
  @person VP_headbiz
VP_headbiz
  VBZ_cut NNS_job PP_headplace
  VBZ_buy @company
  VBZ_sell @product
  VBZ_sell NN_unit PP_headcomp
PP_headplace
  in/IN @town
PP_headcomp
  to/TO @company
FRAG_line
  1 @company* CD_money:nummod RB_move:advmod CD_pct:dep
  1 @town* NN_crop:dep CD_money:dep $/$ per/IN:case tonne/NN:nmod
  1 @company* :/: CD_few:dep NNS_job:dep ,/, CD_money:dep
NNS_results = profits shares sales exports futures bonds
NN_crop = wheat copper coffee sugar oil
NNS_job = jobs workers posts
JJ_unit = chemical retail shipping old
NN_unit = plant unit mine refinery factory shipyard
RB_move = sharply slightly again lower higher early
VBD_move = fell rose jumped slipped climbed
VBD_buy = bought acquired sold sought
verbs cut = cut cut cut cutting, add added added adding
verbs sell = sell sold sold selling, lease leased leased leasing
verbs make = make made made making, launch launched launched launching, recall recalled recalled recalling
verbs open = open opened opened opening, close closed closed closing
verbs buy = buy bought bought buying, fund funded funded funding
verbs hire = hire hired hired hiring, dismiss dismissed dismissed dismissing
"""
