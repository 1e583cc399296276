import { spawnSync } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { JOIN, type HolderMessage } from './holder-message.ts'
import { joinConnections } from './join-connections.ts'
import { formatNftRules, IP_COMMANDS, SANDBOX_PORTS } from './namespace-set-up.ts'

/**
 * Keeps the namespaces of one sandbox. The agent starts this program in them, with the ports of
 * datagrams that are carried. It sets the network
 * up, opens the listeners and hands them over. Then it becomes cat(1), a small program that waits
 * for the end of its input, which also closes its own copies: the agent holds the other end. As
 * process 1 of its namespace it takes every process of the sandbox along when it ends.
 */

/** The longest time for one command of the set-up. */
const COMMAND_TIMEOUT_MS = 10_000
const LOOPBACK = '127.0.0.1'

/** Throws with the command and the first line of its complaint. */
function runCommand(command: string, args: readonly string[], input: string): void {
  const { status, stderr, error } = spawnSync(command, args, {
    input,
    encoding: 'utf8',
    timeout: COMMAND_TIMEOUT_MS,
  })
  if (status === 0) return
  const [complaint = ''] = (error?.message ?? stderr).trim().split('\n')
  throw new Error(`\`${command}\` failed in the namespace of the sandbox: ${complaint}`)
}

/**
 * The kernel counts what a sandbox watches for the user outside too. Half of the user's limit stays
 * for the agent, which guards files by it, and for other programs. See namespaces(7).
 */
function limitWatches(): void {
  for (const name of ['instances', 'watches']) {
    const limit = Number(readFileSync(`/proc/sys/fs/inotify/max_user_${name}`, 'utf8'))
    writeFileSync(`/proc/sys/user/max_inotify_${name}`, String(Math.ceil(limit / 2)))
  }
}

async function listen(port: number, host: string): Promise<Server> {
  const server = createServer()
  server.listen({ port, host })
  await once(server, 'listening')
  return server
}

async function bind(port: number, host: string): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(port, host)
  await once(socket, 'listening')
  return socket
}

function send(message: HolderMessage, handle?: Server | Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  process.send?.(message, handle, {}, (error) => {
    if (error === null) resolve()
    else reject(error)
  })
  return promise
}

async function main(): Promise<void> {
  const udpPorts = process.argv.slice(2).map(Number)
  runCommand('ip', ['-batch', '-'], IP_COMMANDS)
  limitWatches()
  runCommand('nft', ['-f', '-'], formatNftRules(udpPorts))
  await send({ kind: 'listener', name: 'proxy' }, await listen(SANDBOX_PORTS.proxy, LOOPBACK))
  await send({ kind: 'listener', name: 'capture' }, await listen(SANDBOX_PORTS.capture, '::'))
  await send({ kind: 'listener', name: 'api' }, await listen(SANDBOX_PORTS.api, LOOPBACK))
  await send({ kind: 'listener', name: 'dnsTcp' }, await listen(SANDBOX_PORTS.dns, LOOPBACK))
  // Bound to the address that queries are redirected to, or answers would come from another.
  await send({ kind: 'listener', name: 'dnsUdp' }, await bind(SANDBOX_PORTS.dns, LOOPBACK))
  // A program sends from the address that it sends to, where every address is its own.
  for (const port of udpPorts) await send({ kind: 'udp', port }, await bind(port, '0.0.0.0'))
  await send({ kind: 'ready' })
  process.disconnect()
  process.execve?.('/bin/cat', ['cat'], {})
}

const isJoiner = process.argv[2] === JOIN
if (isJoiner) joinConnections()
else
  main().catch(async (error: unknown) => {
    const problem = error instanceof Error ? error.message : 'unknown error'
    await send({ kind: 'failed', problem }).catch(() => {})
    process.exit(1)
  })
