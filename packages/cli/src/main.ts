import { createProcessIo } from './process-io.ts'
import { run } from './run.ts'

// Not process.exit(): what is still on its way to a pipe would be lost.
process.exitCode = await run(process.argv.slice(2), createProcessIo())
