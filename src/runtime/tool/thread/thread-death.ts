/** Duty: the error of a call whose thread ended before its tool did: nobody knows how far it came. */
export class ThreadDeath extends Error {}
