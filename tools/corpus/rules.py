"""Rules that every theme shares: noun phrases, modifiers, reported speech, subordinate and relative
clauses.
"""

COMMON = r"""
S_top
  5 ~S_theme ./.
  2 ~S_report ./.
  1.2 PP_time ,/, ~S_theme ./.
  1.2 SBAR_front ,/, ~S_theme ./.
  0.9 ``/`` ~S_quoted:ccomp ,/, ''/'' NP_source VP_saidbare* ./.
  0.6 ~S_theme ,/, CC_and ~S_personal:conj ./.
  0.7 ~S_theme ,/, NP_source:nsubj VP_saidbare:parataxis ./.
  0.8 ~S_exists ./.
  0.7 ~S_extraposed ./.
  0.6 RB_open ,/, ~S_theme ./.
~S_report
  3 NP_source VP_say
  1 PP_according ,/, ~S_theme*
~S_personal
  @he:nsubj VP_someD
  @he:nsubj MD_will:aux VP_someB
~S_quoted
  3 PRP_we VP_weB
  1 DT_this:nsubj VP_judge
  1 NP_thing VP_passive
~S_exists
  there/EX VP_exist
VP_exist
  was/VBD* NP_indef:nsubj PP_place
  were/VBD* NP_manyplain:nsubj (PP_time)
~S_extraposed
  3 NP_indef VP_appear SBAR_rel^:acl:relcl
  2 NP_indef VP_appear PP_about^:nmod
  2 NP_indef VP_passivebare SBAR_rel^:acl:relcl
  2 NP_indef VP_passivebare NP_day:obl:tmod SBAR_rel^:acl:relcl
NP_source
  3 @subject
  1.5 NP_named
  1 NP_official
  1 @company-subject
  0.5 @country-subject
  0.5 @agency
  0.4 @body-subject
  0.3 @town-subject
NP_named
  3 @person-full ,/, NP_role:appos ,/,
  3 NN_role @person-full*
  2 @town NN_townrole @person-full*
  2 @company NN_comprole @person-full*
  1.5 @national NN_natrole @person-full*
  1.5 @country NN_natrole @person-full*
  1 @agency NN_comprole @person-full*
  1.5 NNP_title @person-bare*
  1 @person-full ,/, NP_home:appos ,/,
  1 @person* ,/, SBAR_who:acl:relcl ,/,
NP_home
  a/DT @national NN_role
  a/DT JJ_age @town NN_role
  CD_age
SBAR_who
  WHNP_who S_rel
NP_role
  the/DT JJ_rank NN_role
  2 the/DT NN_comprole PP_oforg
  1 DT_a NN_role PP_at
PP_oforg
  of/IN NP_org
PP_at
  at/IN NP_org
  with/IN NP_org
  from/IN NP_loc
NP_org
  3 @company
  @body
  the/DT @body
  1 @agency
  1 @club
NP_loc
  4 @town
  2 @country
  1 @region
  1 @water
NP_official
  a/DT NN_role
  2 a/DT NN_spokes PP_for
  1 DT_the @company NN_spokes
  1 a/DT @body NN_official
  1 officials/NNS
  1 @national NNS_people
  1 residents/NNS
PP_for
  for/IN NP_org
VP_saidbare
  VBD_sayplain
  VBD_sayplain NP_day:obl:tmod
  VBD_told NP_audience
NP_audience
  reporters/NNS
  @agency
  the/DT @body
  @town NNS_people
  @company
VP_say
  2 VBD_sayplain SBAR_that
  1 VBD_claim SBAR_that
  1 VBD_sayplain NP_day:obl:tmod SBAR_that
  1 VBD_told NP_audience:iobj SBAR_that
  1 VBD_claim SBAR_that PP_time
  0.6 VBD_asked NP_org S_toinf:xcomp
  0.6 VBD_refused S_toinf:xcomp
SBAR_that :ccomp
  2 S_personal
  2 that/IN S_personal
  2 that/IN S_theme
  1.5 S_theme
S_personal
  ~S_personal
S_theme
  ~S_theme
S_toinf
  VP_toinf
VP_toinf
  to/TO VP_someB
VP_some%
  2 VP_theme%
  1 VP_common%
VP_common%
  2 V%_reject NP_plan
  1 V%_visit NP_loc
  1 V%_meet @person (PP_place)
  1 V%_leave NP_org (PP_time)
  1 V%_join NP_org
  1 V%_criticise NP_who PP_over
  1 V%_praise NP_who
  0.7 V%_thank @person
  0.6 V%_return PP_toplace
  0.5 V%_defend @himself:obj
NP_who
  @person
  NP_org
  @country
  @his:nmod:poss NNS_rivals
PP_toplace
  to/TO NP_loc
PP_over
  over/IN NP_plan
  for/IN NP_gerund
NP_gerund
  DT_the NN_act PP_ofthing
PP_ofthing
  of/IN NP_plan
NP_plan
  2 DT_a NN_plan
  2 DT_the NN_plan
  1 DT_the JJ_plan NN_plan
  1 @his:nmod:poss NN_plan
  1 NP_planbase PP_about
  1 DT_the @measure:compound
  1 DT_the @national NN_plan
  0.7 NP_planbase S_toinf:acl
  0.7 NP_planbase SBAR_rel
  0.5 @person:nmod:poss NP_dummyplan
NP_dummyplan
  the/DT NN_plan
NP_planbase
  DT_a NN_plan
  DT_the JJ_plan NN_plan
NP_thing
  NP_plan
NP_indef
  a/DT NN_plan
  2 a/DT JJ_plan NN_plan
  1 a/DT NN_witness
  1 a/DT @national NN_natrole
NP_manyplain
  CD_few JJ_plan NNS_thing
  no/DT NNS_thing
  CD_few NNS_thing PP_place
VP_appear
  VBD_appear
  VBD_appear NP_day:obl:tmod
  VBD_appear PP_place
VP_passivebare
  was/VBD:aux:pass VP_passcore
VP_passive
  was/VBD:aux:pass VP_passcoreby
  has/VBZ:aux been/VBN:aux:pass VP_passcoreby
  will/MD:aux be/VB:aux:pass VP_passcoreby
VP_passcore
  VBN_pass
VP_passcoreby
  1 VBN_pass
  2 VBN_pass PP_by
  1 VBN_pass PP_by PP_time
  1 VBN_pass NP_day:obl:tmod
PP_by :obl:agent
  by/IN NP_source
PP_about
  about/IN NP_topic
  on/IN NP_topic
  with/IN NP_org
  between/IN NP_twoplaces
NP_twoplaces
  @country and/CC:cc @country:conj
  @town and/CC:cc @town:conj
  @company and/CC:cc @company:conj
NP_topic
  NN_topic
  NN_topic
  JJ_topic NN_topic
  NP_topicbase PP_place
  NP_topicbase SBAR_rel
  the/DT @river
  NNS_thing and/CC:cc NNS_thing:conj
NP_topicbase
  JJ_topic NN_topic
  DT_the JJ_topic NN_topic
PP_place
  3 in/IN @town
  2 in/IN @country
  1 near/IN @town
  1 in/IN @region
  0.6 near/IN the/DT @river
  0.6 in/IN NP_townchain
  0.5 at/IN @ground
  0.4 outside/IN @company
  0.5 near/IN @water
  0.5 along/IN the/DT @river
  0.4 in/IN NP_townsboth
NP_townchain
  @town ,/, NP_country:appos
NP_country
  @country
NP_townsboth
  @town and/CC:cc @town:conj
  @town ,/, @country:conj and/CC:cc @town:conj
PP_time
  2 on/IN NNP_weekday
  1 in/IN NNP_month
  1 on/IN NP_date
  1 after/IN NP_event
  0.5 in/IN CD_year
  0.5 during/IN the/DT NN_span
  0.4 during/IN the/DT @event
NP_date
  NNP_month CD_day:nummod
NP_event
  DT_the NN_event
  DT_a NN_event PP_about
  CD_few NNS_span PP_oftalks
PP_oftalks
  of/IN NNS_talks
NP_day
  NNP_weekday
  NNP_weekday
  last/JJ NN_span
  yesterday/NN
PP_according
  according/VBG:case to/TO:case NP_source
SBAR_front :advcl
  although/IN S_simple
  while/IN S_simple
  after/IN S_simple
  because/IN S_simple
  if/IN S_simple
SBAR_adv :advcl
  after/IN S_simple
  because/IN S_simple
  when/IN S_simple
  before/IN S_simple
S_simple
  NP_source VP_someD
  1 NP_plan VP_passive
  1 NP_org VP_someD
SBAR_rel :acl:relcl
  WHNP_that S_rel
  2 WHNP_that S_rel
  WHNP_that S_relpass
WHNP_that
  that/WDT
  which/WDT
WHNP_who
  who/WP
S_rel
  VP_relD
  VP_relmd
VP_relmd
  MD_will VP_commonB
  MD_will VP_someB
VP_relD
  VP_commonD
  VP_someD
S_relpass
  VP_passive
VP_weB
  will/MD VP_someB
  must/MD RB_not VP_someB
  want/VBP S_toinf:xcomp
  can/MD VP_commonB
VP_judge
  is/VBZ:cop NP_judge*
  was/VBD:cop ADJP_judge*
NP_judge
  a/DT JJ_judge NN_judge
  a/DT NN_judge
  the/DT NN_judge PP_ofthing
ADJP_judge
  RB_very JJ_judge
  JJ_judge
  JJ_judge PP_for
"""
