"""Every theme's rules by name.

A theme defines ``~S_theme`` (what its sentences say), ``VP_theme%``, ``S_head`` (headlines) and
``FRAG_line`` (result lines and lists).
"""

from __future__ import annotations

from tools.corpus.themes_politics_courts import COURTS, POLITICS
from tools.corpus.themes_sport_business import BUSINESS, SPORT
from tools.corpus.themes_weather_culture import CULTURE, WEATHER

THEMES = {
    "sport": SPORT,
    "business": BUSINESS,
    "politics": POLITICS,
    "courts": COURTS,
    "weather": WEATHER,
    "culture": CULTURE,
}
