/** `troupe ask answer <ask> [answer]`: answers an ask; its worker goes on. */
import type { Command } from 'commander'
import { InputError } from '../../../core/errors.ts'
import { addInputOptions, type InputFlags, readInput } from '../../input.ts'
import { idempotencyKey } from '../../options.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface AnswerFlags extends InputFlags {
  readonly by?: string
  readonly reason?: string
  readonly key?: string
}

export function addAnswerCommand(group: Command): void {
  addVerb<AnswerFlags>(group, {
    name: 'answer',
    description: 'answer an ask, once; its worker goes on',
    options: (command) =>
      addInputOptions(command.argument('<ask>', 'id of the ask').argument('[answer]', 'text or JSON; - reads stdin'))
        .option('--by <who>', 'name of the one who answers, shown to people')
        .option('--reason <text>', 'the reason, shown to the worker and to people')
        .option('--key <key>', 'idempotency key: the same answer under the same key is one answer', idempotencyKey),
    examples: [
      ['troupe ask answer 0199… yes --by ada', 'text'],
      ['troupe ask answer 0199… \'{"ok":true}\'', 'JSON, as a webhook would send it'],
      ['curl -s https://example.com/paid | troupe ask answer 0199… -', 'from stdin'],
    ],
    purpose: 'change',
    answer: async (troupe, { more: [id, text], flags }) => {
      if (text === undefined && flags.file === undefined)
        throw new InputError('there is no answer: give it as an argument, with --file, or with - from stdin.')
      const value = await readInput(text as string | undefined, flags, process.stdin, 'the answer')
      const { by, reason, key } = flags
      const answered = await troupe.asks.answer(String(id), value, { by, reason, idempotencyKey: key })
      const object = { type: 'answered', ...answered }
      const again = answered.again ? ' (it was answered so before under this key)' : ''
      return sentence(object, `answered ask ${answered.askId}: worker ${answered.workerId} goes on${again}`)
    },
  })
}
