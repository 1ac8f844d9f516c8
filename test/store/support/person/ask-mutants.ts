/** Mutants of asks. */
import {
  answerScript,
  commitScript,
  finishScript,
  fireScript,
  pruneScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './ask-checks.ts'

export const askMutants: readonly Mutant[] = [
  {
    guard: 'an ask that has ended leaves the inbox',
    script: answerScript,
    takenOut: 'line',
    check: checks.anEndedAskIsNowhere,
  },
  {
    guard: 'an ask that has ended does not expire',
    script: answerScript,
    takenOut: 'line',
    check: checks.anEndedAskIsNowhere,
  },
  {
    guard: 'the end of a run withdraws its asks',
    script: finishScript,
    takenOut: 'line',
    check: checks.theEndOfARunWithdrawsItsAsks,
  },
  {
    guard: 'an ask of a cancelled run takes no answer',
    script: answerScript,
    takenOut: { value: 'state' },
    check: checks.aCancelledRunTakesNoAnswer,
  },
  {
    guard: 'an answer that is sent again is one answer',
    script: answerScript,
    takenOut: { condition: 'false' },
    check: checks.anAnswerThatIsSentAgainIsOne,
  },
  {
    guard: 'a key that gave another answer says so',
    script: answerScript,
    takenOut: 'line',
    check: checks.aKeyOfAnotherAnswerSaysSo,
  },
  { guard: 'an ask is answered once', script: answerScript, takenOut: 'line', check: checks.anAskIsAnsweredOnce },
  {
    guard: 'an ask that expired takes no answer',
    script: answerScript,
    takenOut: 'line',
    check: checks.anExpiredAskTakesNoAnswer,
  },
  {
    guard: 'an ask that was answered does not expire',
    script: fireScript,
    takenOut: { token: ['not field[1]', 'true'] },
    check: checks.anAnsweredAskDoesNotExpire,
  },
  {
    guard: 'a step withdraws the asks that it names',
    script: commitScript,
    takenOut: 'line',
    check: checks.aStepWithdrawsAnAsk,
  },
  {
    guard: 'an ask that has ended is not withdrawn',
    script: commitScript,
    takenOut: 'line',
    check: checks.anAnsweredAskIsNotWithdrawn,
  },
  {
    guard: 'the asks of a session go with it',
    script: pruneScript,
    takenOut: 'line',
    check: checks.asksGoWithTheirSession,
  },
  {
    guard: 'no more asks go at once than a script may remove',
    script: pruneScript,
    takenOut: 'line',
    check: checks.aThousandAsksGoAtOnce,
  },
  {
    guard: 'a pruning is whole even if asks cannot be read',
    script: pruneScript,
    takenOut: 'line',
    check: checks.asksThatCannotBeReadKeepTheirSession,
  },
]
