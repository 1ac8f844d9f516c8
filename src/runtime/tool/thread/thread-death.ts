/** Duty: the error of a call whose thread ended before its tool did. Nobody knows how far the tool came. */
export class ThreadDeath extends Error {}
