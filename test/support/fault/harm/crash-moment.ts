/** Kills this process at the moment that TROUPE_CRASH_AT names (`<point>:<nth>`), as kill -9 would: nothing runs after it. */
import { crashPoint } from './crash-points.ts'

const [name = '', nth = '1'] = (process.env.TROUPE_CRASH_AT ?? '').split(':')
if (name !== '') crashPoint(name)
let left = Number(nth)

export const isArmed = name !== ''

export function passes(moment: string): void {
  if (moment !== name) return
  left--
  if (left <= 0) process.kill(process.pid, 'SIGKILL')
}

export function isAt(moment: string): boolean {
  return moment === name
}
