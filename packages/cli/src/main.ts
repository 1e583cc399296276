import { createProcessIo } from './process-io.ts'
import { run } from './run.ts'

/** A function, because the bundle is CommonJS, which has no `await` outside of one. */
async function main(): Promise<void> {
  // With it tokens and passwords would go to a server of any certificate.
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  // Not process.exit(): what is still on its way to a pipe would be lost.
  process.exitCode = await run(process.argv.slice(2), createProcessIo())
}

void main()
