/** A worker as users write it; one of its tools is exported by the worker alone. */
import { isMainThread } from 'node:worker_threads'
import { defineTool, defineWorker } from 'troupe'

const common = { description: 'For tests.', effect: 'pure', thread: import.meta.url } as const

export const exportedTool = defineTool({ ...common, name: 'exported', run: () => ({ isMainThread }) })
const ofWorker = defineTool({ ...common, name: 'of_worker', run: () => 'ran' })

// biome-ignore lint/style/noDefaultExport: this is how a worker file looks.
export default defineWorker({ instructions: 'You test.', tools: [ofWorker] })
