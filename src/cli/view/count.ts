/** Duty: how many there are of something, for people: `1 worker`, `3 workers wait`. */

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

export function countWaiting(number: number, noun: string): string {
  return `${count(number, noun)} ${number === 1 ? 'waits' : 'wait'}`
}
