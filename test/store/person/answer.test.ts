/** answer: an ask ends once, and its worker receives how. */
import { expect, test } from 'vitest'
import * as checks from '../support/person/ask-checks.ts'
import { Place } from '../support/place.ts'

test.each([
  ['an ask that has ended is in no set', checks.anEndedAskIsNowhere],
  ['the end of a run withdraws its asks', checks.theEndOfARunWithdrawsItsAsks],
  ['a cancelled run takes no answer, though nothing has ended it yet', checks.aCancelledRunTakesNoAnswer],
  ['an answer that is sent again is one answer', checks.anAnswerThatIsSentAgainIsOne],
  ['a key that gave another answer says so', checks.aKeyOfAnotherAnswerSaysSo],
  ['an ask is answered once', checks.anAskIsAnsweredOnce],
  ['an ask that expired takes no answer', checks.anExpiredAskTakesNoAnswer],
  ['an ask that was answered does not expire', checks.anAnsweredAskDoesNotExpire],
  ['a step withdraws an open ask', checks.aStepWithdrawsAnAsk],
  ['a step that withdraws an ask which was answered meanwhile is refused', checks.anAnsweredAskIsNotWithdrawn],
  ['pruning takes the asks of a session with it', checks.asksGoWithTheirSession],
  ['pruning keeps a session whose asks cannot be read', checks.asksThatCannotBeReadKeepTheirSession],
])('%s', async (_claim, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('an answer changes the ask, the mailbox and the run queue in one script', async () => {
  await using place = await Place.open()
  const { answer, id } = await checks.ask(place)
  await place.redis.del(place.keys.wakeups('default'))
  const changed = await place.changed(() => answer('yes'))
  expect(Object.keys(changed).sort()).toEqual(
    [
      'ask:<ask>',
      'asks',
      'events',
      'run:default',
      'w:<one.root>',
      'w:<one.root>:asks',
      'w:<one.root>:mail:signals',
      'wakeups:default',
    ].sort(),
  )
  expect(changed['w:<one.root>:mail:signals']).toEqual([
    'o\t<ask>\t{"status":"answered","value":"yes","by":"ada","reason":null}',
  ])
  expect(id).toBeTruthy()
})
