/** Mutants of what concerns messages to workers of other partitions. */
import { commitScript, deliveredScript, deliverScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './outbox-checks.ts'

export const outboxMutants: readonly Mutant[] = [
  {
    guard: 'mail for another partition goes to its outbox',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.whatAnotherPartitionIsToGetGoesToIt,
  },
  { guard: 'an outbox has a limit', script: commitScript, takenOut: 'line', check: checks.anOutboxHasALimit },
  {
    guard: 'a mail of another partition is received once',
    script: deliverScript,
    takenOut: { condition: 'true' },
    check: checks.aMailIsReceivedOnce,
  },
  {
    guard: 'the number of the last received mail is recorded',
    script: deliverScript,
    takenOut: 'line',
    check: checks.aMailIsReceivedOnce,
  },
  {
    guard: 'a damaged recipient holds up no mail of others',
    script: deliverScript,
    takenOut: { value: "error('a recipient is damaged', 0)" },
    check: checks.aDamagedRecipientHoldsUpNoOther,
  },
  {
    guard: 'a refused mail is answered as such until it was told of',
    script: deliverScript,
    takenOut: 'line',
    check: checks.aRefusedMailIsAnsweredUntilItIsToldOf,
  },
  {
    guard: 'no more refused mails are remembered than stand in an outbox',
    script: deliverScript,
    takenOut: { condition: 'true' },
    check: checks.whatWasToldOfIsForgotten,
  },
  {
    guard: 'a mail stays in its outbox until it was received',
    script: deliveredScript,
    takenOut: { condition: 'false' },
    check: checks.aMailStaysUntilItWasReceived,
  },
  {
    guard: 'a refused mail is reported once',
    script: deliveredScript,
    takenOut: { condition: 'true' },
    check: checks.whatWasNotTakenIsToldOfOnce,
  },
]
