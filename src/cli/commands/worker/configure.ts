/** `troupe worker configure`: another model, other settings or fewer tools for one agent. */
import { type Command, Option } from 'commander'
import { isObject } from '../../../core/check/is-object.ts'
import { preview } from '../../../core/check/preview.ts'
import { efforts } from '../../../core/definition/tool/call-settings.ts'
import { InputError } from '../../../core/errors.ts'
import type { Configuration, ConfigurationChange } from '../../../core/worker/message/configuration.ts'
import { configurationText } from '../../../words/configuration-text.ts'
import { queuedAt, UnhostedNotice } from '../../host/unhosted-notice.ts'
import { parseInput } from '../../input.ts'
import { tell } from '../../terminal/output.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface ConfigureFlags {
  readonly model?: string
  readonly effort?: (typeof efforts)[number]
  readonly settings?: string
  readonly tools?: string
  readonly reset?: boolean
}

export function addConfigureCommand(group: Command): void {
  addVerb<ConfigureFlags>(group, {
    name: 'configure',
    description: 'set the model of an agent, its settings, or which of its tools it may use',
    takes: 'worker',
    options: (command) =>
      command
        .option('--model <provider/model>', 'the model that it asks')
        .addOption(new Option('--effort <effort>', 'how much the model thinks').choices(efforts))
        .option('--settings <json>', 'settings as in a definition, like {"temperature":0}')
        .option('--tools <names>', 'those tools of its kind that it may use, with commas between; empty: none')
        .option('--reset', 'everything that no option names is again as its kind says'),
    examples: [
      ['troupe worker configure 0199… --model anthropic/claude-sonnet-4-5', ''],
      ['troupe worker configure 0199… --effort high --tools read_file,search', ''],
      ['troupe worker configure 0199… --reset', ''],
    ],
    purpose: 'change',
    details: 'Needs a node that hosts its kind. At once if the worker rests, else after its run.',
    answer: async (troupe, { id, flags }) => {
      const worker = troupe.workers.get(id)
      using _notice = new UnhostedNotice(troupe, () => queuedAt(worker), tell)
      const configured: Configuration = await worker.configure(changeOf(flags))
      const object = { type: 'configured', workerId: id, configured }
      return sentence(object, `worker ${id} from its next run on: ${configurationText(configured)}`)
    },
  })
}

function changeOf({ model, effort, settings, tools, reset }: ConfigureFlags): ConfigurationChange {
  const given = settings === undefined ? undefined : objectIn(settings)
  const change: ConfigurationChange = {
    ...(reset && { model: null, settings: null, tools: null }),
    ...(model !== undefined && { model }),
    ...((given ?? effort) !== undefined && { settings: { ...given, ...(effort && { effort }) } }),
    ...(tools !== undefined && { tools: tools.split(',').filter((name) => name !== '') }),
  }
  if (Object.keys(change).length === 0)
    throw new InputError('there is nothing to set: name --model, --effort, --settings, --tools or --reset.')
  return change
}

function objectIn(text: string): Record<string, unknown> {
  const settings = parseInput(text, 'json', '--settings')
  if (isObject(settings)) return settings
  throw new InputError(`--settings must be an object like {"temperature":0}, not ${preview(settings)}.`)
}
