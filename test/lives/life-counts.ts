/** Duty: how often each sort of trouble came in random lives. */

/** What happened in a life, for a report that counts. */
export interface LifeCounts {
  prompts: number
  crashes: number
  stops: number
  orders: number
  cancels: number
  denials: number
  compactions: number
  forks: number
  undone: number
  failures: number
  retries: number
  steers: number
  interrupts: number
  interruptedCalls: number
  takenBack: number
  redone: number
  cancelledChildren: number
}

export const noCounts = (): LifeCounts => ({
  prompts: 0,
  crashes: 0,
  stops: 0,
  orders: 0,
  cancels: 0,
  denials: 0,
  compactions: 0,
  forks: 0,
  undone: 0,
  failures: 0,
  retries: 0,
  steers: 0,
  interrupts: 0,
  interruptedCalls: 0,
  takenBack: 0,
  redone: 0,
  cancelledChildren: 0,
})
