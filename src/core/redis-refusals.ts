/** Duty: the words with which Redis refuses a call, as alternatives of a pattern. */

/** Codes that say "not now": nothing was written, and the same call may succeed later. */
export const notNowCodes = 'OOM|READONLY|LOADING|TRYAGAIN|BUSY|MASTERDOWN|CLUSTERDOWN|MISCONF|NOREPLICAS'

/** Codes for a user whom Redis does not know, or who may not do this. */
export const userCodes = 'NOAUTH|WRONGPASS|NOPERM'

/** The same of a script, which has no code: before Redis 7.0, and since. */
export const userWords = "The user executing the script can't|ACL failure in script:"
