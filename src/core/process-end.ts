/** Duty: remember that troupe itself ends this process and has said why, so that nobody reports the end as a surprise. */

let isExpected = false

export function expectProcessEnd(): void {
  isExpected = true
}

export function isProcessEndExpected(): boolean {
  return isExpected
}
