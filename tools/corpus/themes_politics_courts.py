"""Rules of two themes: politics (states, parties and votes) and courts (charges and verdicts)."""

POLITICS = r"""
~S_theme
  3 @subject:nsubj VP_theme_any
  2 NP_named VP_theme_any
  2 @country-subject:nsubj VP_state
  1.5 NP_voters VP_themeD
  1 the/DT @body-subject*:nsubj VP_theme_any
  1 NP_plan VP_passive
  1 @nationals:nsubj VP_vote
  1 @town-subject:nsubj VP_state
VP_theme_any
  2 VP_themeD
  1.5 VP_themeD PP_time
  1 VP_themeD SBAR_adv
  1 had/VBD:aux ADVP_already VP_themeN
  1 MD_will VP_themeB
  1 VP_themeD SBAR_adv
  0.6 VP_themeD CC_and VP_themeD:conj
ADVP_already
  RB_already
VP_state
  2 VBD_accuse @country PP_accused
  1 VBD_recognise @country PP_time
  1 VBD_accuse @town PP_accused
  2 VP_themeD
  1.5 VP_themeD PP_time
  1 VP_themeD SBAR_adv
  1 MD_will VP_themeB
PP_accused
  of/IN S_accused
S_accused
  VP_themeG
NP_voters
  @national NNS_people
  @town NNS_people
  NNS_people PP_place
  the/DT @national NN_natrole
VP_vote
  VBD_vote PP_place PP_time
  VBD_vote PP_forparty
  VP_commonD
PP_forparty
  for/IN @person
  for/IN the/DT @body
  against/IN @person
VP_theme%
  2 V%_back the/DT @measure
  2 V%_urge @country S_toinf:xcomp
  1.5 V%_send NP_envoy PP_toplace
  1.5 V%_back @person PP_aspost
  1 V%_speak @language PP_place
  1 V%_end NP_ties PP_withcountry
  1 V%_urge @body S_toinf:xcomp
  0.7 V%_win NP_vote PP_place
NP_envoy
  CD_big NNS_troops
  @person
  a/DT @national NN_natrole
  @national NNS_troops
PP_aspost
  as/IN NP_post
NP_post
  NN_natrole PP_ofplace
  @national NN_natrole
PP_ofplace
  of/IN @country
  of/IN @town
NP_ties
  NNS_ties
  JJ_topic NNS_ties
PP_withcountry
  with/IN @country
  with/IN @town
NP_vote
  the/DT NN_vote
  the/DT @region NN_vote
S_head
  @country VP_headpol
  @person VP_headpol
  @town VP_headpol
  @nationals VP_headpol
VP_headpol
  VBZ_back @measure
  VBZ_urge @country PP_headon
  VBZ_back @person
  VBZ_send NNS_troops PP_headplace
PP_headplace
  to/TO @town
  to/TO @country
PP_headon
  on/IN NN_topic
FRAG_line
  1 @person-full* ,/, @body:dep :/: CD_pct:dep percent/NN:dep
  1 @country* :/: @person-full:appos ,/, NN_natrole:appos
  1 @region* :/: @body:appos CD_few:dep NNS_seats:dep
NNS_seats = seats votes
NNS_troops = troops observers police engineers
NNS_ties = ties relations talks trade
NN_vote = vote seat election debate
RB_already = already never twice finally
VBD_vote = voted marched rallied
VBD_accuse = accused suspected
VBD_recognise = recognised invaded warned
verbs back = back backed backed backing, oppose opposed opposed opposing, endorse endorsed endorsed endorsing
verbs urge = urge urged urged urging, ask asked asked asking, press pressed pressed pressing
verbs send = send sent sent sending, deploy deployed deployed deploying
verbs speak = speak spoke spoken speaking, teach taught taught teaching
verbs end = end ended ended ending, restore restored restored restoring
verbs win = win won won winning, lose lost lost losing
"""

COURTS = r"""
~S_theme
  3 NP_court VP_theme_any
  2 @subject:nsubj VP_accusedof
  1.5 NP_named VP_accusedof
  1 @subject:nsubj ,/, NP_home:appos ,/, VP_accusedof
  1 NP_police VP_themeD
  1 @company-subject:nsubj VP_sue
  1 NP_plan VP_passive
NP_court
  a/DT @town NN_court
  the/DT @body
  the/DT NN_court PP_place
  NNP_judge @person-bare*
  @town NNS_police
NP_police
  police/NNS PP_place
  @town police/NNS
  @national police/NNS
VP_sue
  VBD_sue @company PP_charge
  VBD_sue @person PP_time
  VBD_sue @town
VP_accusedof
  was/VBD:aux:pass VP_charged
  VBD_deny NP_charge
  VBD_deny S_killing:xcomp
VP_charged
  2 VBN_charge PP_charge
  1 VBN_charge PP_place PP_time
  1 VBN_charge PP_by
S_killing
  VP_themeG
NP_charge
  the/DT NNS_charge
  NN_charge PP_against
PP_against
  against/IN @company
  against/IN @person
PP_charge
  with/IN NP_offence
  over/IN NP_offence
NP_offence
  NN_charge
  NN_charge PP_atcomp
  NP_offbase SBAR_rel
NP_offbase
  DT_a NN_charge
PP_atcomp
  at/IN @company
  at/IN @town
  of/IN @person
VP_theme_any
  2 VP_themeD
  1.5 VP_themeD PP_time
  1 VP_themeD SBAR_adv
  1 MD_will VP_themeB
  1 had/VBD:aux VP_themeN
  1 VP_themeD SBAR_adv
VP_theme%
  2 V%_jail @person PP_charge
  1 V%_jail NP_suspect PP_place
  1 V%_fine @company NP_money
  1 V%_fine @person NP_money
  1 V%_hear NP_charge
  1 V%_apply the/DT @measure
  0.8 V%_search NP_premises
NP_premises
  the/DT @town NNS_office PP_ofcomp
  NP_compposs NNS_office
  @company
NP_compposs
  @company 's/POS
  @person 's/POS
PP_ofcomp
  of/IN @company
  of/IN @agency
  of/IN @person
NP_suspect
  CD_few @nationals*
  a/DT @national NN_role
NP_money
  $/$ CD_money CD_unit*
S_head
  @town VP_headlaw
  @person VP_headlaw
  @company VP_headlaw
VP_headlaw
  VBZ_hear NNS_charge
  VBZ_fine @company
  VBZ_jail @person PP_headplace
PP_headplace
  in/IN @town
FRAG_line
  1 @person-full* v/IN:case @company:dep ,/, @town:dep CD_year:dep
  1 @person-full* ,/, CD_age:dep :/: NN_charge:dep
NNP_judge = Judge Justice
NN_court = court jury tribunal judge
NNS_police = police prosecutors
NNS_office = offices home archives
NN_charge = fraud bribery arson theft murder
NNS_charge = charges accusations allegations
VBN_charge = charged arrested sentenced acquitted questioned
VBD_deny = denied admitted
VBD_sue = sued accused
verbs jail = jail jailed jailed jailing, clear cleared cleared clearing, charge charged charged charging
verbs fine = fine fined fined fining, order ordered ordered ordering
verbs hear = hear heard heard hearing, dismiss dismissed dismissed dismissing
verbs apply = apply applied applied applying, cite cited cited citing
verbs search = search searched searched searching, seal sealed sealed sealing
"""
