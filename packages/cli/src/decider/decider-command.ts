import type { Command } from 'commander'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { serveHttpjail } from './httpjail.ts'
import { startSrt } from './srt-command.ts'
import { parseSrtDomain } from './srt-domain.ts'
import { SrtViolation } from './srt-frames.ts'
import { serveSrt } from './srt.ts'

/** `palisade decider` */
export function addDeciderCommands(program: Command, { io, exit }: RunContext): void {
  const decider = program
    .command('decider')
    .summary('decide the requests of another proxy')
    .description('Answer another proxy that asks a process about each request.')
    .helpCommand(false)
    .addHelpText('after', RULES)
  decider
    .command('srt')
    .summary('the external decider of sandbox-runtime')
    .description('Speak the decider protocol of `srt proxy` on standard input and output.')
    .option('--domain <host>', 'host that srt asks about; may be repeated', collect, [])
    .addHelpText('after', SRT)
    .argument('[command...]', '`srt proxy` and its options; `--decider-fd` is added')
    .action(async (command: readonly string[], { domain }: { domain: readonly string[] }) => {
      if (domain.length === 0)
        throw usageError('srt refuses every host without a list; name one with `--domain HOST`')
      if (command.length === 0) await endOnViolation(serveSrt(io, domain))
      else exit(await endOnViolation(startSrt(io, domain, command)))
    })
  decider
    .command('httpjail')
    .summary('the line processor of httpjail')
    .description('Answer one request a line, as `httpjail --proc` sends them.')
    .addHelpText('after', HTTPJAIL)
    .action(() => serveHttpjail(io))
}

const RULES = `
Each request is decided by the running agent as a connection to its host and port. A request that is
not understood is denied, and so is every request while no agent runs.

Examples:
  palisade decider srt --help
  palisade decider httpjail --help`

const SRT = `
srt forwards to no host outside its list, whatever the decider says, so name every host that the
policy may allow. In srt \`*.example.com\` means every name below example.com, at any depth; the
policy still decides each. The Host header and the TLS server name must be allowed, too.

Without a command the protocol is spoken on standard input and output. \`srt\` needs sockets there,
as a program makes them; pipes of a shell do not serve.

Examples:
  palisade decider srt --domain example.com --domain '*.example.com' -- \\
    srt proxy --listen 127.0.0.1:8080`

const HTTPJAIL = `
httpjail runs a program without arguments, so give it a script with the command.

Examples:
  printf '#!/bin/sh\\nexec palisade decider httpjail\\n' > script && chmod +x script
  httpjail --proc ./script -- curl https://example.com/`

function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...new Set([...previous, parseSrtDomain(value)])]
}

async function endOnViolation<T>(serving: Promise<T>): Promise<T> {
  try {
    return await serving
  } catch (error) {
    if (!(error instanceof SrtViolation)) throw error
    throw new CliError('ERR_INPUT_UNREADABLE', EXIT.failed, `srt: ${error.message}`, {
      cause: error,
    })
  }
}
