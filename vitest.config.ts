/** Tests run beside each other against one throw-away Redis (test/support/global-setup.ts); each keeps to keys of its own. */

import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { patienceMs } from './test/support/time/patience.ts'

// `import 'troupe'` in workers/ and tests means src/. Vitest hands the conditions on to its processes.
const conditions = ['troupe-source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    // Only tests of this name are compiled: `npm run types` compiles everything.
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: 'tsconfig.types.json' },
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/forget-keys.ts', 'test/support/fault/seed-properties.ts'],
    pool: 'forks',
    // A file finds what the files before it have loaded: loading took more of the processors than the tests. None may leave a change of what they share.
    isolate: false,
    // Most tests wait for most of their time, for a lease to end or a process to start. Two for each core keep the cores busy.
    maxWorkers: 2 * availableParallelism(),
    // A test that hangs is found all the same. A test that starts a dozen processes needs minutes beside ten busy programs for each core.
    testTimeout: 400_000,
    hookTimeout: 400_000,
    teardownTimeout: 60_000,
    // A busy machine needs longer than the second that is the default.
    expect: { poll: { timeout: patienceMs } },
    restoreMocks: true,
    // The one interval that looks at all calls of Redis stays real: begun by what a file before left behind, a fake one would never fire again.
    fakeTimers: { toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date', 'performance'] },
  },
})
