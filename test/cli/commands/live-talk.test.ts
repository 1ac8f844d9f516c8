/** The conversation of `troupe run --keep-open` at a terminal: the person types while the worker works. */
import { expect, test, vi } from 'vitest'
import { Follower } from '../../../src/cli/commands/talk/follow.ts'
import { LiveTalk } from '../../../src/cli/commands/talk/live-talk.ts'
import { Interrupt } from '../../../src/cli/terminal/interrupt.ts'
import { PromptView } from '../../../src/cli/terminal/prompt-view.ts'
import { Session } from '../../../src/client/session/session.ts'
import { Worker } from '../../../src/client/worker.ts'
import { defineWorker, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { TypedTerminal } from '../terminal/typed-terminal.ts'

/** A talk with a worker of this kind. `answers` are what it printed. */
async function talkWith(definition: WorkerDefinition) {
  const troupe = await TestTroupe.start({ workers: { talker: definition } })
  const terminal = new TypedTerminal(120, 40)
  const answers: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => answers.push(String(text).trim()) > 0)
  const talk = new LiveTalk({ stdin: terminal.stdin, stream: terminal.screen.stream })
  const interrupt = new Interrupt(() => {})
  const begin = async (input: unknown) => {
    const session = await troupe.client.sessions.create({ kind: 'talker', input, keepOpen: true }, { follow: true })
    return { session, follower: new Follower(session, talk.view) }
  }
  const ended = talk.run({ begin, first: undefined, flags: {}, interrupt, troupe: troupe.client })
  const end = async () => {
    talk[Symbol.dispose]()
    interrupt[Symbol.dispose]()
    await troupe[Symbol.asyncDispose]()
  }
  return { terminal, answers, ended, [Symbol.asyncDispose]: end }
}

/** `wait` keeps its run busy until a message steers it. */
const patient = defineWorker({
  receive(message, self) {
    if (message.kind !== 'input') return
    if (message.value === 'wait') self.after(600_000, null)
    else self.reply(`heard ${String(message.value)}`)
  },
})

test('a message that is typed during a run waits for its end, and /steer brings one into the run', async () => {
  await using talk = await talkWith(patient)
  const { terminal, answers } = talk
  terminal.type('wait\r')
  await terminal.showsLine(/^talker {2}waiting/)
  terminal.type('later\r')
  await terminal.showsLine(/waits for the end of this run/)
  terminal.type('/steer now\r')
  await expect.poll(() => answers).toEqual(['heard now', 'heard later'])
  terminal.type('wait\r')
  await terminal.showsLine(/^talker {2}waiting/)
  terminal.type('sooner\u001b\r')
  await expect.poll(() => answers.at(-1)).toBe('heard sooner')
  terminal.type('\u0004')
  expect(await talk.ended).toBe(0)
  await terminal.showsLine(/the conversation is closed/)
})

test('Esc cancels the run, and Ctrl+C while nothing runs leaves the conversation open (LIVE-TALK-1, LIVE-TALK-2)', async () => {
  await using talk = await talkWith(patient)
  const { terminal } = talk
  terminal.type('wait\r')
  await terminal.showsLine(/^talker {2}waiting/)
  terminal.type('\u001b')
  await terminal.showsLine(/ {2}cancelled$/)
  terminal.type('\u0003')
  expect(await talk.ended).toBe(130)
  await terminal.showsLine(/stays open/)
})

test('Ctrl+C while the conversation closes ends the wait for its last answer (LIVE-TALK-2)', async () => {
  await using talk = await talkWith(patient)
  const { terminal } = talk
  vi.spyOn(process, 'kill').mockImplementation(() => process.emit('SIGINT', 'SIGINT') || true)
  // A node that stands still cancels nothing.
  vi.spyOn(Worker.prototype, 'cancelRun').mockResolvedValue(true)
  terminal.type('wait\r')
  await terminal.showsLine(/^talker {2}waiting/)
  terminal.type('/quit\r')
  await terminal.showsLine(/closing; what waits gets its answer first/)
  terminal.type('\u0003')
  await terminal.showsLine(/cancelling this answer/)
  terminal.type('\u0003')
  expect(await talk.ended).toBe(130)
  await terminal.showsLine(/closes once what waits has its answer/)
})

test('a terminal that is lost during an answer leaves the conversation open (LIVE-TALK-1)', async () => {
  await using talk = await talkWith(patient)
  const { terminal } = talk
  terminal.type('wait\r')
  await terminal.showsLine(/^talker {2}waiting/)
  // To set the mode of a terminal that is gone is an error.
  Object.assign(terminal.stdin, { setRawMode: () => terminal.stdin.emit('error', new Error('setRawMode EIO')) })
  terminal.close()
  expect(await talk.ended).toBe(130)
  await terminal.showsLine(/stays open/)
})

test('Ctrl+C before the conversation begins is a signal (LIVE-TALK-2)', () => {
  const terminal = new TypedTerminal()
  using _ = new LiveTalk({ stdin: terminal.stdin, stream: terminal.screen.stream })
  const signals = vi.spyOn(process, 'kill').mockReturnValue(true)
  terminal.type('\u0003')
  expect(signals.mock.calls).toEqual([[process.pid, 'SIGINT']])
})

test('a line that is typed before Ctrl+D at the same moment is a message, and gets its answer (LIVE-TALK-1)', async () => {
  await using talk = await talkWith(patient)
  const { terminal, answers } = talk
  terminal.type('hello\r\u0004')
  expect(await talk.ended).toBe(0)
  expect(answers).toEqual(['heard hello'])
  await terminal.showsLine(/the conversation is closed/)
})

test('a line that is typed before Ctrl+C at the same moment begins the session, and the command names it (LIVE-TALK-1)', async () => {
  await using talk = await talkWith(patient)
  const { terminal } = talk
  terminal.type('hello\r\u0003')
  expect(await talk.ended).toBe(130)
  await terminal.showsLine(/stays open/)
})

test('Esc at the moment when an answer has ended leaves the conversation as it is (LIVE-TALK-2)', async () => {
  await using talk = await talkWith(patient)
  const { terminal, answers } = talk
  const cancels = vi.spyOn(Worker.prototype, 'cancelRun')
  terminal.type('hello\r')
  await expect.poll(() => answers).toEqual(['heard hello'])
  // The event of that end has not come.
  vi.spyOn(PromptView.prototype, 'isBusy', 'get').mockReturnValue(true)
  terminal.type('\u001b')
  await expect.poll(() => cancels.mock.settledResults).toMatchObject([{ value: false }])
  terminal.type('still here?\r')
  await expect.poll(() => answers).toEqual(['heard hello', 'heard still here?'])
})

test('an answer that cannot be read while Redis is away is printed later (OPEN-TALK-2)', async () => {
  await using talk = await talkWith(patient)
  const { terminal, answers } = talk
  vi.spyOn(Session.prototype, 'result').mockRejectedValueOnce(
    new TransientError('Redis is away.', { code: 'store_unavailable' }),
  )
  terminal.type('hello\r')
  await terminal.showsLine(/Redis is away/)
  await expect.poll(() => answers).toEqual(['heard hello'])
})

test('an ask that cannot be read while Redis is away is shown later (OPEN-ASK-2)', async () => {
  const asker = defineWorker({
    receive(message, self) {
      if (message.kind === 'input' && message.value === 'ask') self.ask('Ship it?')
      else self.reply('heard')
    },
  })
  await using talk = await talkWith(asker)
  const { terminal, answers } = talk
  terminal.type('hello\r')
  await expect.poll(() => answers).toEqual(['heard'])
  const away = new TransientError('Redis is away.', { code: 'store_unavailable' })
  const asks = vi.spyOn(Session.prototype, 'asks').mockRejectedValue(away)
  terminal.type('ask\r')
  await terminal.showsLine(/Redis is away/)
  asks.mockRestore()
  await terminal.showsLine(/asks: Ship it\?/)
})

test('the line behind an answer is a message (OPEN-ASK-3)', async () => {
  const asker = defineWorker({
    receive(message, self) {
      if (message.kind === 'input' && message.value === 'ask') self.ask('Ship it?')
      else self.reply(`${message.kind} ${String(message.kind === 'answer' && message.value)}`)
    },
  })
  await using talk = await talkWith(asker)
  const { terminal, answers } = talk
  terminal.type('ask\r')
  await terminal.showsLine(/asks: Ship it\?/)
  terminal.type('yes\rmore\r')
  await expect.poll(() => answers).toEqual(['answer yes', 'input false'])
})

test('a line that the person began before a call was shown decides nothing (OPEN-ASK-1)', async () => {
  const looked = Promise.withResolvers<void>()
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    run: () => looked.promise.then(() => 'seen'),
  })
  const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'once', run: () => 'paid' })
  const model = scriptedModel('test/m', [call('look', {}), call('pay', {}), say('it is paid'), say('yes what?')])
  await using talk = await talkWith(defineWorker({ instructions: 'x', model, tools: [look, pay] }))
  const { terminal, answers } = talk
  terminal.type('go\r')
  await terminal.showsLine(/using a tool/)
  terminal.type('y')
  await terminal.shows(...terminal.screen.lines.slice(0, -1), '> y')
  looked.resolve()
  await terminal.showsLine(/wants to call pay/)
  terminal.type('\r')
  await terminal.showsLine(/waits for the end of this run/)
  await terminal.showsLine(/^Run it\?/)
  terminal.type('y\r')
  await expect.poll(() => answers).toEqual(['it is paid', 'yes what?'])
  terminal.type('/quit\r')
  expect(await talk.ended).toBe(0)
})
