import { createProcessIo } from './process-io.ts'
import { run } from './run.ts'

/** A function, because the CommonJS bundle has no top-level `await`. */
async function main(): Promise<void> {
  // The variable would send tokens and passwords to a server with any certificate.
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  // process.exit() would discard output that is still being written to a pipe.
  process.exitCode = await run(process.argv.slice(2), createProcessIo())
}

void main()
