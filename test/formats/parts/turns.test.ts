/** Turns of the same side are one turn, where a format wants the sides to alternate. */
import { expect, test } from 'vitest'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { alternating, type Turn, turnsOf } from '../../../src/formats/parts/turns.ts'

const userTurn = (at: number): Turn => ({ side: 'user', blocks: [{ type: 'text', text: `${at}` }], at, id: `${at}` })

test('neighbours of one side are merged: a user is named by the first of them, a reply by the last', () => {
  const replies = [chat.assistant('a', { at: 1 }), chat.assistant('b', { at: 2 })]
  const { turns } = alternating([...turnsOf(replies), userTurn(3), { side: 'system', text: 's', at: 4 }, userTurn(5)])
  expect(turns).toMatchObject([
    { side: 'user', at: 1, id: '' },
    { side: 'assistant', message: { at: 2 }, blocks: [{ text: 'a' }, { text: 'b' }] },
    { side: 'user', id: '3', blocks: [{ text: '3' }, { text: '5' }] },
  ])
})

// A list that is built anew for each of them takes most of a minute.
test('a hundred thousand turns of one side are merged in linear time', () => {
  const { turns } = alternating(Array.from({ length: 100_000 }, (_, at) => userTurn(at)))
  expect(turns.map((turn) => turn.side === 'user' && turn.blocks.length)).toEqual([100_000])
}, 20_000)
