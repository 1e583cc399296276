import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'

/** `start`. */
export function addStart(program: Command): void {
  program
    .command('start')
    .description('serve until SIGTERM or SIGINT; a second signal stops at once')
    .option('--host <address>', 'listen on this address instead of `PALISADE_HOST`')
    .option('--port <port>', 'listen on this port instead of `PALISADE_PORT`')
    .addHelpText('after', '\nExamples:\n  palisade-server start --port 9000')
    .action(async ({ host, port }: { readonly host?: string; readonly port?: string }) => {
      // Loaded late: the other commands need no HTTP server, and start in half the time.
      const { startServer } = await import('../../start-server.ts')
      const config = readProcessConfig({
        ...(host === undefined ? {} : { PALISADE_HOST: host }),
        ...(port === undefined ? {} : { PALISADE_PORT: port }),
      })
      await startServer(config, systemSources(), listenForStop())
    })
}

/** Acknowledged writes are on disk; running requests are cut off. */
function endAtOnce(): never {
  process.stderr.write(
    'palisade-server: stopped by a second signal; running requests were cut off\n',
  )
  process.exit(1)
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Listens for SIGTERM and SIGINT from now on. Resolves with the name of the first, and calls
 * `endAtOnce` at each further one: a second signal means that the user does not want to wait.
 */
function listenForStop(): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of SIGNALS)
      process.on(signal, () => {
        if (isStopping) endAtOnce()
        isStopping = true
        resolve(signal)
      })
  })
}
