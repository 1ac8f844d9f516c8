/** The inputs that steer a run are read by their positions, while the commits of the same turn take inputs out of the mailbox. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'

test('inputs are read as they are, although a commit takes the one before them meanwhile (INPUT-READ-1)', async () => {
  await using place = await Place.open()
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  const turn = await node.claim()
  for (const text of ['first', 'second']) await place.post(root, text, undefined, 'steer')
  const reading = node.turns.readInputs(root, [1, 2])
  await turn.record({ inputsConsumed: 1 })
  const mails = [
    { position: 1, message: { value: 'first' } },
    { position: 2, message: { value: 'second' } },
  ]
  expect(await reading).toMatchObject(mails)
  expect(await node.turns.readInputs(root, [0, 1, 2])).toMatchObject(mails)
})
