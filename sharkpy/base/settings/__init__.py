"""Settings: files of rows by subject, joined in the table `SETTINGS`. `Conf` holds a session's values.

A new setting is one row in the file of its subject. The star imports here and the table pick it up.
"""

from sharkpy.base.settings.conf import SETTINGS as SETTINGS
from sharkpy.base.settings.conf import Conf as Conf
from sharkpy.base.settings.conf import check_known as check_known
from sharkpy.base.settings.conf import find_setting as find_setting
from sharkpy.base.settings.conf import is_address as is_address
from sharkpy.base.settings.conf import is_guarded as is_guarded
from sharkpy.base.settings.data import *
from sharkpy.base.settings.setting import Setting as Setting
from sharkpy.base.settings.statements import *
from sharkpy.base.settings.system import *
