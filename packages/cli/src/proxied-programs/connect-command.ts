import { canonicalHost } from '@palisade/policy-core'
import type { Command } from 'commander'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { describeSystemError } from '../runtime/system-error.ts'
import { printable } from '../terminal/printable.ts'
import { findProxy } from './env-command.ts'

/** Above any answer of the proxy to a refused CONNECT. */
const MAX_ANSWER_BYTES = 256 * 1024

/** `palisade connect` */
export function addConnectCommand(program: Command, context: RunContext): void {
  program
    .command('connect')
    .summary('join standard input and output to a host, through the proxy')
    .description(
      'Connect standard input and output to a host, through the proxy of this machine: ' +
        'for programs that take a command in place of a proxy, such as ssh.',
    )
    .argument('<host>', 'name or address')
    .argument('<port>', '1 to 65535')
    .option('--proxy <url>', 'URL of the proxy (default: ask the agent)')
    .addHelpText(
      'after',
      `
Exit codes: 0 the connection ended, 1 denied or failed, with the reason on standard error

Examples:
  palisade connect git.example.com 22
  ssh -o ProxyCommand='palisade connect %h %p' git.example.com`,
    )
    .action(async (host: string, port: string, options: { readonly proxy?: string }) => {
      const authority = parseAuthority(host, port)
      const proxy = parseProxy(options.proxy ?? (await findProxy(context)))
      const socket = await openTunnel(proxy, authority)
      await bridge(context, socket)
    })
}

function parseAuthority(host: string, port: string): string {
  const canonical = canonicalHost(host.replace(/^\[(.*)\]$/, '$1'))
  if (canonical === null) throw usageError(`\`${host}\` is not a host name or an address`)
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)
    throw usageError(`\`${port}\` is not a port; write 1 to 65535`)
  if (canonical.kind === 'name') return `${canonical.name}:${port}`
  const { address } = canonical
  return `${address.includes(':') ? `[${address}]` : address}:${port}`
}

function parseProxy(text: string): { readonly host: string; readonly port: number } {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'http:' || url.port === '')
    throw usageError(`\`${text}\` is not a proxy; write it like \`http://127.0.0.1:8421\``)
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port) }
}

/** Resolves once the proxy has opened the tunnel; early bytes of the host stay unread. */
async function openTunnel(
  proxy: { readonly host: string; readonly port: number },
  authority: string,
): Promise<Socket> {
  const socket = connect({ ...proxy, allowHalfOpen: true })
  try {
    await once(socket, 'connect')
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
    const { head, rest } = await readHead(socket)
    const status = /^HTTP\/1\.[01] (\d{3})(?: (.*))?/.exec(head)
    if (status?.[1]?.startsWith('2') !== true)
      throw refusal(await readText(socket, rest), status?.[2] ?? 'it is no HTTP proxy')
    socket.unshift(rest)
    return socket
  } catch (error) {
    socket.destroy()
    if (error instanceof CliError) throw error
    const why = describeSystemError(error)
    throw new CliError('ERR_AGENT', EXIT.failed, `the proxy cannot be reached: ${why}`, {
      cause: error,
    })
  }
}

interface Head {
  readonly head: string
  readonly rest: Buffer
}

async function readHead(socket: Socket): Promise<Head> {
  const { promise, resolve, reject } = Promise.withResolvers<Head>()
  let received = Buffer.alloc(0)
  const take = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk])
    const end = received.indexOf('\r\n\r\n')
    if (end < 0 && received.length < MAX_ANSWER_BYTES) return
    socket.pause().off('data', take)
    const head = received.subarray(0, Math.max(end, 0)).toString('latin1')
    resolve({ head, rest: received.subarray(end + 4) })
  }
  socket.on('data', take)
  socket.once('error', reject)
  socket.once('end', () => reject(new CliError('ERR_AGENT', EXIT.failed, 'the proxy hung up')))
  return promise
}

async function readText(socket: Socket, first: Buffer): Promise<string> {
  const chunks = [first]
  let length = first.length
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > MAX_ANSWER_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The proxy's own sentence, with the remedy where the body has one. */
function refusal(body: string, phrase: string): CliError {
  return new CliError('ERR_AGENT', EXIT.failed, printable(errorOf(body) ?? phrase))
}

function errorOf(body: string): string | null {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value !== 'object' || value === null || !('error' in value)) return null
    return typeof value.error === 'string' ? value.error : null
  } catch {
    return null
  }
}

/** Ends when the host has ended; a local end is passed on, because the host may still answer. */
async function bridge({ io }: RunContext, socket: Socket): Promise<void> {
  const sending = pipeline(io.stdin, socket).catch((error: unknown) => {
    // The host may end first, while this side still has bytes to send.
    if (!socket.destroyed) throw error
  })
  await pipeline(socket, io.stdout, { end: false })
  socket.destroy()
  io.stdin.destroy()
  await sending
}
