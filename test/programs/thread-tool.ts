/** Runs one tool in a thread and prints how that ended. It closes nothing: an idle thread must not keep it alive. */
import { ToolExecutor } from '../../src/runtime/tool/executor.ts'
import { ThreadPool } from '../../src/runtime/tool/thread/thread-pool.ts'
import { callParts } from '../runtime/tool/support/call-parts.ts'
import { exportedTool } from '../runtime/tool/support/threaded-worker.ts'

const executor = new ToolExecutor(new ThreadPool())
const outcome = await executor.run({ tool: exportedTool, input: {}, parts: callParts().parts })
process.stdout.write(JSON.stringify(outcome))
