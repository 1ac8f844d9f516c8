/** `troupe worker expand|undo|redo|push`: changes what the prompts of an agent hold, while it rests. */
import type { Command } from 'commander'
import type { Worker } from '../../../client/worker.ts'
import { chat } from '../../../core/history/chat/message-factories.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface Change {
  readonly name: 'expand' | 'undo' | 'redo'
  readonly description: string
  readonly example: string
  readonly details: string
  readonly options?: (command: Command) => unknown
  readonly done: string | ((flags: UndoFlags) => string)
  readonly change: (worker: Worker, flags: UndoFlags) => Promise<void>
}

interface UndoFlags {
  readonly all?: boolean
}

const changes: readonly Change[] = [
  {
    name: 'expand',
    description: 'take back the last summary in the conversation of an agent',
    example: 'prompts are as they would be without the summary',
    details: `Its prompts hold the messages again that the summary stood for. If they do not fit
the window of its model, the conversation is compacted again with the next input.`,
    done: 'has the messages in its prompts again that its last summary stood for',
    change: (worker) => worker.expand(),
  },
  {
    name: 'undo',
    description: 'take the last turn of an agent back: its last input, and all that followed from that',
    example: 'the next prompt is as if the turn had never been',
    details: `The history keeps the turn, and troupe worker redo lets it count again until something
new is said. What its tools did outside, and what was spent, stays.`,
    options: (command) => command.option('--all', 'its whole conversation; system messages stay'),
    done: ({ all }) =>
      `has forgotten ${all ? 'its whole conversation' : 'its last turn'}; troupe worker redo takes that back`,
    change: (worker, { all = false }) => worker.undo({ all }),
  },
  {
    name: 'redo',
    description: 'bring back the turn that was taken back last',
    example: 'after an undo, and before anything new is said',
    details: '',
    done: 'knows the turn again that was undone last',
    change: (worker) => worker.redo(),
  },
]

export function addAmendCommands(group: Command): void {
  for (const { name, description, example, details, options, done, change } of changes)
    addVerb<UndoFlags>(group, {
      name,
      description,
      takes: 'worker',
      examples: [[`troupe worker ${name} 0199…`, example]],
      purpose: 'change',
      ...(options && { options }),
      details: `Only while the worker rests. ${details}`.trim(),
      answer: async (troupe, { id, flags }) => {
        await change(troupe.workers.get(id), flags)
        const told = typeof done === 'string' ? done : done(flags)
        return sentence({ type: 'contextChanged', workerId: id, how: name }, `worker ${id} ${told}`)
      },
    })
  addPushCommand(group)
}

function addPushCommand(group: Command): void {
  addVerb<{ readonly as: 'user' | 'assistant' | 'system' }>(group, {
    name: 'push',
    description: 'add a message to the conversation of an agent, and wake nobody',
    takes: 'worker',
    options: (command) =>
      command
        .argument('<text>', 'what is said')
        .addOption(
          command.createOption('--as <who>', 'who says it').choices(['user', 'assistant', 'system']).default('user'),
        ),
    examples: [['troupe worker push 0199… "The price is 7."', 'in its next prompt']],
    purpose: 'change',
    details: 'Only while the worker rests. Its next input, or troupe worker undo, comes behind it.',
    answer: async (troupe, { id, more: [text], flags: { as } }) => {
      const position = await troupe.workers.get(id).push(chat[as](String(text)))
      return sentence(
        { type: 'pushed', workerId: id, position },
        `message ${position} is in the history of worker ${id}`,
      )
    },
  })
}
