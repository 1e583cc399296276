import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { requirePeer } from '../../contenders/installed-peer.ts'
import { freePort } from '../../server/free-port.ts'

/** A proxy in its own process. */
export interface Contender {
  readonly name: string
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 30_000
const PAUSE_MS = 20

/** The baseline and every peer that is installed on this machine. */
export async function startPeers(folder: string, targetPort: number): Promise<Contender[]> {
  const peers = [await startScript('node, 30 lines', 'plain-proxy.ts')]
  if (requirePeer('@anthropic-ai/sandbox-runtime/dist/sandbox/http-proxy.js') !== null)
    peers.push(await startScript('sandbox-runtime', 'sandbox-runtime-proxy.ts'))
  if (existsSync('/usr/bin/tinyproxy')) peers.push(await startTinyproxy(folder, targetPort))
  if (existsSync('/usr/sbin/squid')) peers.push(await startSquid(folder, targetPort))
  return peers
}

/** Starts a script of this folder with a free port as its argument. */
export async function startScript(name: string, file: string): Promise<Contender> {
  const port = await freePort()
  return start(name, port, process.execPath, [join(import.meta.dirname, file), String(port)])
}

async function startTinyproxy(folder: string, targetPort: number): Promise<Contender> {
  const port = await freePort()
  const config = join(folder, 'tinyproxy.conf')
  const lines = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Allow 127.0.0.1',
    'MaxClients 4096',
    'LogLevel Critical',
    `LogFile "${join(folder, 'tinyproxy.log')}"`,
    `ConnectPort ${targetPort}`,
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  return start('tinyproxy', port, '/usr/bin/tinyproxy', ['-d', '-c', config])
}

async function startSquid(folder: string, targetPort: number): Promise<Contender> {
  const port = await freePort()
  const config = join(folder, 'squid.conf')
  const lines = [
    `http_port 127.0.0.1:${port}`,
    `acl target port ${targetPort}`,
    'http_access allow target',
    'http_access deny all',
    'cache deny all',
    'access_log none',
    'cache_log /dev/null',
    'cache_store_log none',
    'shutdown_lifetime 0 seconds',
    'pid_filename none',
    'coredump_dir none',
    'pinger_enable off',
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  // Its shared memory has the name of the service.
  return start('squid', port, '/usr/sbin/squid', ['-N', '-n', `bench${port}`, '-f', config])
}

async function start(
  name: string,
  port: number,
  command: string,
  args: readonly string[],
): Promise<Contender> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore'] })
  await awaitListening(name, child, port)
  return {
    name,
    port,
    pid: child.pid ?? 0,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function awaitListening(name: string, child: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    if (await isListening(port)) return
    await setTimeout(PAUSE_MS)
  }
  child.kill('SIGKILL')
  throw new Error(`${name} does not listen on port ${port}`)
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
