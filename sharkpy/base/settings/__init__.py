"""Settings of the engine: one file of rows per subject, joined in the table `SETTINGS`. `Conf` holds a session's
values.

A new setting is one row in the file of its subject. The star imports here and the table pick it up.
"""

from sharkpy.base.settings.conf import SETTINGS, check_known, find_setting, is_address, is_guarded
from sharkpy.base.settings.conf import Conf as Conf
from sharkpy.base.settings.data import *
from sharkpy.base.settings.setting import Setting as Setting
from sharkpy.base.settings.statements import *
from sharkpy.base.settings.system import *
