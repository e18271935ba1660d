"""Rules of two themes: weather (storms, rivers and roads) and culture (works, prizes and
performers).
"""

WEATHER = r"""
~S_theme
  3 NP_storm VP_hit
  1.5 @water:nsubj VP_rise
  1.5 the/DT @river*:nsubj VP_rise
  1 @town-subject:nsubj VP_suffer
  1 @region:nsubj VP_suffer
  1 NP_roads VP_closed
  1 @subject:nsubj VP_themeD
  1 NP_named VP_themeD
NP_storm
  a/DT NN_storm
  JJ_storm NN_storm
  NNP_storm @person-bare*
  NP_stormbase SBAR_rel2
NP_stormbase
  a/DT JJ_storm NN_storm
SBAR_rel2 :acl:relcl
  WHNP_that S_hit
S_hit
  VP_hit
VP_hit
  2 VBD_hit @town
  1.5 VBD_hit @region PP_time
  1 VBD_hit @country
  1 VBD_hit NP_townsboth
  1 VBD_hit @company ,/, S_flooding:advcl
  1 VBD_hit NP_townchain
S_flooding
  VP_floodG
VP_floodG
  flooding/VBG NP_flooded
  cutting/VBG @town:obj
NP_flooded
  CD_big NNS_home
  the/DT @company NN_plantw
  @ground
VP_rise
  VBD_rise PP_place
  VBD_rise NP_metres:obl
  VBD_hit @town
NP_metres
  CD_few metres/NNS
VP_suffer
  VBD_suffer NP_damage
  VBD_suffer NP_damage SBAR_adv
NP_damage
  JJ_storm NN_damage
  its/PRP$ JJ_worst NN_damage PP_time
NP_roads
  NNS_road PP_place
  the/DT road/NN PP_between
  @town airport/NN
PP_between
  between/IN NP_townsboth2
  to/TO @town
NP_townsboth2
  @town and/CC:cc @town:conj
VP_closed
  were/VBD:aux:pass VP_closedcore
VP_closedcore
  VBN_close NP_day:obl:tmod
  VBN_close PP_by2
PP_by2 :obl:agent
  by/IN NP_storm
VP_theme%
  2 V%_leave @town PP_time
  1 V%_visit @region
  1 V%_rescue NP_rescued PP_fromwater
  1 V%_forecast NP_damage PP_place
  1 V%_rescue @person
  0.8 V%_rescue @product
NP_rescued
  CD_big NNS_people
PP_fromwater
  from/IN the/DT @river
  from/IN @town
  from/IN the/DT @product
S_head
  NN_storm VP_headst
  @water VP_headst
  @town VP_headst
VP_headst
  VBZ_hit @town
  VBZ_hit @country
  VBZ_leave CD_big NNS_home
FRAG_line
  2 @town* CD_score:nummod NN_sky:dep
  1 @water* :/: CD_few:dep metres/NNS:dep ,/, rising/VBG:dep
  1 @town* ,/, @country:appos :/: NN_sky:dep ,/, CD_age:dep
NN_sky = sunny rain snow cloudy fog
NNP_storm = Hurricane Typhoon Cyclone Storm
NN_storm = storm flood blizzard gale wind snow
JJ_storm = heavy severe light sudden
JJ_worst = worst first
NN_damage = flooding damage drought frost rain
NN_plantw = plant dam depot
NNS_home = homes houses farms
NNS_road = roads schools bridges railways
VBD_rise = rose burst overflowed froze
VBD_suffer = suffered escaped expected
VBD_hit = hit struck battered reached
VBN_close = closed blocked damaged
verbs hit = hit hit hit hitting, batter battered battered battering
verbs rescue = rescue rescued rescued rescuing, evacuate evacuated evacuated evacuating
verbs forecast = forecast forecast forecast forecasting, expect expected expected expecting
"""

CULTURE = r"""
~S_theme
  3 @subject:nsubj VP_theme_any
  2 NP_named VP_theme_any
  1.5 NP_work VP_open
  1 @town-subject:nsubj VP_host
  1 NP_work VP_passive
  1 @company-subject:nsubj VP_themeD
  1 @subject:nsubj ,/, NP_home:appos ,/, VP_theme_any
NP_work
  ``/`` @work* ''/''
  @work
  NP_personposs ``/`` @work* ''/''
  the/DT @national NN_work
  a/DT NN_work PP_byartist
NP_personposs
  @person 's/POS
  @town 's/POS
PP_byartist
  by/IN @person
  about/IN @town
  in/IN @language
  about/IN @person
VP_open
  VBD_open PP_atevent
  VBD_open PP_place PP_time
  VBD_open PP_place SBAR_adv
  VBD_open PP_innat
PP_innat
  in/IN @language
  in/IN @language and/CC:cc @language:conj
PP_atevent
  at/IN the/DT @event
  at/IN @ground
VP_host
  MD_will VP_hostB
  VBD_host the/DT @event
  VBD_host NP_work
VP_hostB
  host/VB the/DT @event
  host/VB @company
VP_theme_any
  2 VP_themeD
  1.5 VP_themeD PP_time
  1 VP_themeD SBAR_adv
  1 has/VBZ:aux VP_themeN
  1 MD_will VP_themeB
  1 VP_themeD SBAR_adv
VP_theme%
  2 V%_write NP_work PP_place
  1.5 V%_win the/DT @event PP_forwork
  1.5 V%_write NP_work PP_time
  1 V%_speak @language PP_withartist
  1 V%_perform PP_withartist PP_place
  1 V%_marry @person PP_place
  1 V%_perform PP_atevent
  0.7 V%_drive a/DT @product PP_toplace
PP_forwork
  for/IN NP_work
PP_withartist
  with/IN @person
  with/IN @company
S_head
  @person VP_headart
  @town VP_headart
  @work VP_headart
NP_townwork
  @town NN_work
VP_headart
  VBZ_win @event
  VBZ_marry @person PP_headplace
  VBZ_drive NP_townwork
PP_headplace
  in/IN @town
FRAG_line
  1 ``/`` @work* ''/'' ,/, @person-full:dep -LRB-/-LRB- @company:dep -RRB-/-RRB-
  1 CD_rankc:dep @work* :/: @person-full:appos
  1 @event* :/: @person-full:appos ,/, ``/`` @work:dep ''/''
CD_rankc = 1. 2. 3. 4. 5.
NN_work = novel film opera album play ballet
VBD_open = opened closed premiered sold
VBD_host = hosted staged cancelled
verbs write = write wrote written writing, record recorded recorded recording, direct directed directed directing
verbs write = translate translated translated translating
verbs win = win won won winning, miss missed missed missing
verbs speak = speak spoke spoken speaking, learn learned learned learning
verbs perform = perform performed performed performing, sing sang sung singing
verbs marry = marry married married marrying, inspire inspired inspired inspiring
verbs drive = drive drove driven driving, shake shook shaken shaking
"""
