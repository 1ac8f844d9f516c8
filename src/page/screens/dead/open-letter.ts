/** Duty: say whether somebody must still deal with a dead letter. */
import type { DeadLetter } from '../../../client/summaries.ts'

export function isOpenLetter({ redrivenAs, dismissed }: DeadLetter): boolean {
  return redrivenAs === null && !dismissed
}
