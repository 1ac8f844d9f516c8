/** `troupe send <worker> [text]`: sends an input message to a worker. */
import { type Command, Option } from 'commander'
import { InputError } from '../../core/errors.ts'
import { type SendTime, sendTimes } from '../../core/worker/message/steer.ts'
import { withTroupe } from '../host/connection.ts'
import { unhostedWarning } from '../host/unhosted-notice.ts'
import {
  type AttachFlags,
  addAttachOption,
  addInputOptions,
  type InputFlags,
  readInput,
  withAttachments,
} from '../input.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, idempotencyKey } from '../options.ts'
import { safe, tell } from '../terminal/output.ts'
import { sentence } from '../view/answer.ts'
import { eitherId, printAnswer } from './verb.ts'

interface SendFlags extends ConnectionFlags, InputFlags, AttachFlags {
  readonly key?: string
  readonly when?: SendTime
}

export function addSendCommand(program: Command): void {
  const command = program
    .command('send')
    .description('send a message to a worker')
    .argument('<worker>', 'id of the worker, or of a session for its first worker')
    .argument('[text]', 'the message; - reads stdin')
    .option('--key <key>', 'idempotency key: the same key sends once', idempotencyKey)
    .addOption(
      new Option('--when <when>', 'when a busy worker receives it: in its next run, in this run, or at once').choices(
        sendTimes,
      ),
    )
  addConnectionOptions(addInputOptions(addAttachOption(command)))
  addExamples(command, [
    ['troupe send 0199… "and the tests, please"', 'text'],
    ['troupe send 0199… \'{"folder":"docs"}\'', 'JSON'],
    ['git diff | troupe send 0199… -', 'text from stdin'],
    ['troupe send 0199… "Is this the same?" --attach photo.jpg', 'with an image'],
    ['troupe send 0199… "only the docs" --when steer', 'to the run in progress'],
    ['troupe send 0199… "stop, do this first" --when interrupt', 'in place of what it does now'],
  ])
  command.action(send)
}

async function send(id: string, text: string | undefined, flags: SendFlags): Promise<void> {
  if (text === undefined && flags.file === undefined && flags.attach === undefined)
    throw new InputError('there is no message: give it as an argument, with --file, or with - from stdin.')
  const value = await withAttachments(await readInput(text, flags, process.stdin), flags)
  await withTroupe(flags, 'change', async (troupe) => {
    const worker = troupe.workers.get(await eitherId(troupe, id, 'worker'))
    const { position, again, steers, ...sent } = await worker.send(value, {
      idempotencyKey: flags.key,
      when: flags.when,
    })
    const warning = sent.warning ?? (await unhostedWarning('message', worker.report(), troupe))
    if (warning) tell(`troupe: ${safe(warning)}`)
    const object = { type: 'sent', workerId: worker.id, position, again, steers, warning }
    const where = steers ? ', for the run in progress' : ''
    printAnswer(sentence(object, `accepted by worker ${worker.id} at position ${position}${where}`), flags)
  })
}
