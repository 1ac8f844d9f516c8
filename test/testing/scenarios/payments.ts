/** Agents that pay and are careful, and some that are careless in one way each. The till is a folder outside of troupe. */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineTool, defineWorker, type ToolContext } from 'troupe'

export interface Order {
  readonly folder: string
  readonly cents: number
}

const orderOf = (context: ToolContext) => context.input as unknown as Order

/** The same file under the same key, however often it is written. */
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effect: 'idempotent',
  run(_input, context) {
    const { folder, cents } = orderOf(context)
    writeFileSync(join(folder, `paid-${context.idempotencyKey.replaceAll(/\W/g, '_')}`), String(cents))
    context.setFact('paid', cents)
    return 'paid'
  },
})

/** Says that it may run again under the same key, and counts twice. */
const payTwice = defineTool({
  name: 'pay_twice',
  description: 'Pays, and again when asked again.',
  effect: 'idempotent',
  run(_input, context) {
    const { folder, cents } = orderOf(context)
    appendFileSync(join(folder, 'counter'), `${context.idempotencyKey}\n`)
    context.setFact('paid', cents)
    return 'paid'
  },
})

let remembered: number | undefined

/** Keeps in its process what it should have established as a fact. */
const forget = defineTool({
  name: 'price',
  description: 'Finds the price.',
  effect: 'pure',
  run(_input, context) {
    remembered = orderOf(context).cents
    return 'found'
  },
})

const recall = defineTool({
  name: 'recall',
  description: 'Says the price that was found.',
  effect: 'pure',
  run(_input, context) {
    context.setFact('price', remembered ?? null)
    return 'said'
  },
})

/** The file that a payment is entered into. Whoever knows its key finds it. */
export const entryFile = (key: string) => join(tmpdir(), `troupe-entered-${key.replaceAll(/\W/g, '_')}`)

/** Enters a payment once, and knows whether it did. */
const enter = defineTool({
  name: 'enter',
  description: 'Enters a payment.',
  effect: 'once',
  approval: 'never',
  run(_input, { idempotencyKey }) {
    appendFileSync(entryFile(idempotencyKey), 'entered\n')
    return 'entered'
  },
  reconcile: async (_input, { idempotencyKey }) =>
    existsSync(entryFile(idempotencyKey)) ? { done: true, output: 'entered' } : { done: false },
})

const settle = defineTool({
  name: 'settle',
  description: 'Pays, and enters it twice.',
  recipe: () => ({
    serial: [{ tool: pay }, { tool: enter }],
    parallel: [{ tool: enter, label: 'copy' }],
    compose: ({ serialResults, parallelResults, errors }) => ({
      entered: serialResults.length + parallelResults.length,
      errors: errors.length,
    }),
  }),
})

/** Writes what it was called with. */
const note = defineTool({
  name: 'note',
  description: 'Notes.',
  effect: 'idempotent',
  run(input, context) {
    appendFileSync(join(orderOf(context).folder, 'notes'), `${JSON.stringify(input)}\n`)
    return 'noted'
  },
})

interface Count {
  readonly order: Order | null
}

const instructions = 'You pay.'

const hoard = defineTool({
  name: 'hoard',
  description: 'Returns a long text.',
  effect: 'pure',
  run: () => 'a long line. '.repeat(120),
})

export const workers = {
  payer: defineWorker({ instructions, tools: [pay], concurrency: { most: 1 } }),
  'careless-payer': defineWorker({ instructions, tools: [payTwice] }),
  /** What its hooks say differs each time that they are asked. */
  guarded: defineWorker({
    instructions,
    tools: [note],
    hooks: {
      spawn: () => `spawned ${Math.random()}`,
      prompt: (input) => ({ do: 'transform', input: { ...(input as object), nonce: Math.random() } }),
      toolBefore: () => ({ do: 'change', arguments: { n: Math.random() } }),
      toolAfter: () => `seen ${Math.random()}`,
    },
  }),
  settler: defineWorker({ instructions, tools: [pay, enter, settle] }),
  /** Has a stamp made in the background. */
  starter: defineWorker({ instructions, tools: [pay], spawns: ['stamp'], background: true }),
  /** Its results fill the window of its model, so that old ones are cleared. */
  hoarder: defineWorker({ instructions, tools: [pay, hoard], compaction: { window: 1_000, keep: 1 } }),
  forgetful: defineWorker({ instructions, tools: [forget, recall] }),

  /** Its letter has the name of its key: a second one takes the place of the first. */
  clerk: defineWorker<Count>({
    initial: { order: null },
    receive(message, self) {
      if (message.kind === 'input') {
        const order = message.value as Order
        self.setState({ order })
        writeFileSync(join(order.folder, `letter-${self.idempotencyKey.replaceAll(/\W/g, '_')}`), 'a letter')
        self.spawn('stamp', order.cents)
      }
      if (message.kind === 'result' && message.status === 'completed') self.reply({ stamped: message.value })
    },
  }),
  stamp: defineWorker({ receive: (message, self) => self.reply(Number('value' in message && message.value) * 2) }),

  /** Has one stamped after the other. */
  counter: defineWorker<{ stamped: readonly unknown[] }>({
    childrenAtOnce: 1,
    initial: { stamped: [] },
    receive(message, self) {
      if (message.kind === 'input') for (const cents of [1, 2, 3]) self.spawn('stamp', cents)
      if (message.kind !== 'result') return
      const stamped = [...self.state.stamped, message.value]
      self.setState({ stamped })
      if (self.openChildren === 0) self.reply({ stamped })
    },
  }),

  /** Its letters are not guarded. */
  'careless-clerk': defineWorker({
    receive(message, self) {
      if (message.kind === 'input') appendFileSync(join((message.value as Order).folder, 'letters'), 'a letter\n')
      self.reply('written')
    },
  }),

  /** Replies before its letter is written: a child that it does not wait for writes it, in its second turn. */
  sender: defineWorker({
    receive(message, self) {
      self.spawn('writer', message.kind === 'input' ? message.value : null, { detached: true })
      self.reply('under way')
    },
  }),
  writer: defineWorker<{ order: Order | null }>({
    initial: { order: null },
    receive(message, self) {
      if (message.kind === 'input') {
        self.setState({ order: message.value as Order })
        self.after(200, null)
      } else {
        writeFileSync(join(self.state.order?.folder ?? '', 'letter'), 'a letter')
        self.reply('written')
      }
    },
  }),

  /** Replies while its stay is booked: the end of its run cancels that one, which releases its room. */
  guest: defineWorker<null, Order>({
    receive(message, self) {
      if (message.kind === 'timer') return self.reply('gone')
      if (message.kind !== 'input') return
      self.spawn('stay', message.value)
      self.after(1_500, null)
    },
  }),
  stay: defineWorker<{ folder: string }, Order>({
    initial: { folder: '' },
    receive(message, self) {
      if (message.kind !== 'input') return
      self.setState({ folder: message.value.folder })
      self.after(600_000, null)
    },
    onCancel: (self) =>
      writeFileSync(join(self.state.folder, `released-${self.idempotencyKey.replaceAll(/\W/g, '_')}`), 'a room'),
  }),

  /** Has it stamped or not, as it is told. */
  moody: defineWorker({
    receive(message, self) {
      if (message.kind === 'input' && message.value === true) self.spawn('stamp', 1, { detached: true })
      self.reply('done')
    },
  }),

  /** Waits for what never comes. */
  asker: defineWorker({
    initial: [] as unknown[],
    receive(message, self) {
      if (message.kind === 'input') self.ask('Ship it?', { options: ['yes', 'no'] })
      else if (self.state.length === 0) {
        self.setState([message.value])
        self.ask('How many?')
      } else self.reply([...self.state, message.value])
    },
  }),

  expecter: defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.ask('Who is there?', { expiresMs: 100, onExpiry: 'nobody' })
      else if (message.kind === 'answer') self.reply({ status: message.status, value: message.value })
    },
  }),

  waiter: defineWorker({
    receive(_message, self) {
      self.after(600_000, null)
    },
  }),

  quitter: defineWorker({
    receive() {
      process.stderr.write('nobody can work like this\n')
      process.exit(3)
    },
  }),
}
