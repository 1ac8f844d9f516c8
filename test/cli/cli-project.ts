/** A project with a few worker files and a node that runs them, for the tests of one file. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, inject } from 'vitest'
import { type Ended, Project } from './command-line.ts'

export const workers = {
  'workers/echo.ts': `import { defineWorker } from 'troupe'
export default defineWorker({ description: 'Replies with what it gets.', receive: (message, self) => self.reply(message.value) })`,
  'workers/fails.ts': `import { defineWorker } from 'troupe'
export default defineWorker({ retries: 0, receive() { throw new Error('no \\u001b[31mluck') } })`,
  'workers/babbles.ts': `import { defineWorker } from 'troupe'
export default defineWorker({ retries: 0, receive() { throw new Error('no luck '.repeat(60).trim()) } })`,
  'workers/tally.ts': `import { defineWorker } from 'troupe'
export default defineWorker({ initial: 0, receive(message, self) {
  self.setState(self.state + message.value.length)
  self.reply({ total: self.state })
} })`,
  'workers/parent.ts': `import { defineWorker } from 'troupe'
export default defineWorker({ spawns: ['echo', 'fails'], receive(message, self) {
  if (message.kind === 'input') {
    self.spawn('echo', 'a', { name: 'first' })
    self.spawn('fails', 'b', { name: 'second' })
  } else if (self.openChildren === 0) self.reply('both have ended')
} })`,
  'workers/waits.ts': `import { defineWorker } from 'troupe'
export default defineWorker({ receive(message, self) { if (message.kind === 'input') self.after(600_000, 'late') } })`,
}

export const unknownId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000'

interface Submitted {
  readonly sessionId: string
  readonly workerId: string
  readonly warning: string | null
}

/** The project of a test file, with its own namespace. It exists from the first test on. */
export class CliProject {
  readonly namespace: string
  #project: Project | undefined

  constructor(name: string, options: { readonly withNode: boolean }) {
    this.namespace = `cli-${name}-${randomBytes(6).toString('hex')}`
    beforeAll(async () => {
      const env = { TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: this.namespace }
      this.#project = await Project.create(workers, env)
      if (options.withNode) await this.#project.start(['node']).saw('is ready', 'stdout')
    })
    afterAll(() => this.#project?.[Symbol.asyncDispose]())
  }

  get project(): Project {
    if (!this.#project) throw new Error('The project exists only during the tests.')
    return this.#project
  }

  /** Runs a command twice, with and without --json. Both must end with exit code 0. */
  async both(...args: string[]): Promise<{ text: string; objects: Record<string, unknown>[] }> {
    const [human, json] = await Promise.all([this.project.ask(args), this.project.ask([...args, '--json'])])
    return { text: succeeded(human).stdout, objects: succeeded(json).objects }
  }

  async submit(...args: string[]): Promise<Submitted> {
    const ended = succeeded(await this.project.ask(['submit', ...args, '--json']))
    return ended.objects[0] as unknown as Submitted
  }

  async waitForEnd(sessionId: string): Promise<void> {
    await this.project.ask(['session', 'result', sessionId, '--wait'])
  }
}

function succeeded(ended: Ended): Ended {
  if (ended.code !== 0) throw new Error(`a command ended with ${ended.code}: ${ended.stderr}`)
  return ended
}
