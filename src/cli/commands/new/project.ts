/** Duty: the files of a new project. Each is what a person would write: short, and meant to be changed. */
import { agentFiles } from './agent-files.ts'
import { handlerFiles } from './handler-files.ts'
import type { WorkerFiles } from './worker-files.ts'

export const sorts = ['agent', 'handler'] as const
export type Sort = (typeof sorts)[number]

export interface ProjectFacts {
  /** The name of the package. */
  readonly project: string
  /** The kind of its worker. */
  readonly kind: string
  readonly sort: Sort
  /** The versions of packages in package.json. */
  readonly versions: Readonly<Record<'troupe' | 'zod' | 'typescript' | '@types/node', string>>
}

/** Text by path, below the folder of the project. */
export function projectFiles(facts: ProjectFacts): Readonly<Record<string, string>> {
  const worker = workerFilesOf(facts)
  return {
    'package.json': packageJson(facts),
    'tsconfig.json': tsconfig,
    '.gitignore': 'node_modules/\n.troupe/\n.env\n',
    '.env.example': envExample,
    'docker-compose.yml': compose,
    'README.md': readme(facts, worker),
    'AGENTS.md': agentsPage(facts, worker),
    ...worker.files,
  }
}

export function workerFilesOf({ kind, sort }: Pick<ProjectFacts, 'kind' | 'sort'>): WorkerFiles {
  return sort === 'agent' ? agentFiles(kind) : handlerFiles(kind)
}

function packageJson({ project, versions }: ProjectFacts): string {
  const { troupe, zod, typescript, '@types/node': types } = versions
  const manifest = {
    name: project,
    private: true,
    type: 'module',
    engines: { node: '>=24.12' },
    scripts: { dev: 'troupe dev', test: 'node --test', check: 'tsc', start: 'troupe node' },
    dependencies: { troupe, zod },
    devDependencies: { '@types/node': types, typescript },
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext.disposable"],
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "noEmit": true
  }
}
`

const envExample = `# Copy this file to .env: \`troupe dev\` reads it, and again when it changes.
# The model of agents that name none, as provider/model, and the provider's key:
# TROUPE_MODEL=openai/gpt-5-mini
# OPENAI_API_KEY=
`

const compose = `# A Redis for production, or beside \`troupe dev --redis-url redis://127.0.0.1:6379\`.
services:
  redis:
    image: redis:7-alpine
    # Sessions are data, not a cache: every second of them on disk, and nothing evicted.
    command: ["redis-server", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"]
    ports: ["127.0.0.1:6379:6379"]
    volumes: ["redis:/data"]
    restart: unless-stopped

volumes:
  redis:
`

function readme({ project, kind }: ProjectFacts, { message, about }: WorkerFiles): string {
  return `# ${project}

Workers on troupe: they live in Redis, and go on after a deploy or a crash.

\`\`\`sh
npm run dev        # a Redis, a node that reloads your code, the page, and a prompt: type "${kind} ${message}"
npm test           # the tests; they start a throw-away Redis
npm run check      # types
npm start          # a node for production: TROUPE_REDIS_URL says which Redis
\`\`\`

From a script: \`npx troupe run ${kind} '${message}'\`. While \`npm run dev\` runs, add \`--redis-url folder\`.

${about.map((line) => `- ${line}`).join('\n')}
- \`.env\` holds keys; \`.env.example\` says which. \`.troupe/\` holds the data of the development Redis.
`
}

function agentsPage({ kind }: ProjectFacts, { message, about }: WorkerFiles): string {
  return `# For coding agents

This project defines workers of troupe, a durable runtime for agents on Redis.

${about.map((line) => `- ${line}`).join('\n')}
- The file name of a worker below \`workers/\` is its kind. Files that begin with \`_\` are helpers.

## Check your work

\`\`\`sh
npm test && npm run check
npx troupe kinds                       # loads all worker files, and says what is wrong with one
npx troupe run ${kind} '${message}' --json --redis-url folder   # events, and the result as the last line
\`\`\`

\`troupe dev --json\` says what it does as JSON lines: \`ready\`, \`loaded\` (with \`problems\`), \`kept\` (code that cannot be loaded; the old code runs on).

## Rules

- A message is received again if the process dies before its turn is recorded. Effects outside belong into tools, or into \`self.step(name, (key) => …)\`,
  and pass the idempotency key on.
- Effects of tools: \`pure\` reads, \`idempotent\` may be repeated under its key, \`once\` must not be repeated, and a person approves it.
- Keep state and messages JSON. Do not keep anything in variables of a module between messages: the next turn may run in another process.
- TypeScript runs as it is: no enums, no parameter properties; imports end in \`.ts\`.
- \`npx troupe doctor\` says why something does not go on; \`npx troupe session show <id>\` and \`npx troupe worker history <id>\` say what happened.
`
}
