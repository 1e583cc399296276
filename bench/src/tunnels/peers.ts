import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requirePeer } from '../process/installed-peer.ts'
import { startListening, startScript, type ListeningProcess } from '../process/start-script.ts'

/** A proxy in its own process. */
export interface Proxy extends Pick<ListeningProcess, 'port' | 'cpuUs' | 'stop'> {
  readonly name: string
}

/** The proxy by whose processor time the others are divided. */
export const BASELINE = 'plain node proxy'

const SCRIPTS = import.meta.dirname
const TINYPROXY = '/usr/bin/tinyproxy'
const SQUID = '/usr/sbin/squid'

/** Starts the baseline and every peer that is installed on this machine. */
export async function startPeers(
  folder: string,
  targetPort: number,
  note: (line: string) => void,
): Promise<Proxy[]> {
  const peers: Proxy[] = [
    { name: BASELINE, ...(await startScript(join(SCRIPTS, 'plain-proxy.ts'))) },
  ]
  if (requirePeer('@anthropic-ai/sandbox-runtime/dist/sandbox/http-proxy.js') === null)
    note('left out: sandbox-runtime: it is not installed')
  else {
    const started = await startScript(join(SCRIPTS, 'sandbox-runtime-proxy.ts'))
    peers.push({ name: 'sandbox-runtime', ...started })
  }
  const programs = [
    { name: 'tinyproxy', path: TINYPROXY, start: startTinyproxy },
    { name: 'squid', path: SQUID, start: startSquid },
  ]
  for (const { name, path, start } of programs)
    if (existsSync(path)) peers.push({ name, ...(await start(folder, targetPort)) })
    else note(`left out: ${name}: it is not installed`)
  return peers
}

function startTinyproxy(folder: string, targetPort: number): Promise<ListeningProcess> {
  const config = join(folder, 'tinyproxy.conf')
  return startListening(TINYPROXY, (port) => {
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
    return ['-d', '-c', config]
  })
}

function startSquid(folder: string, targetPort: number): Promise<ListeningProcess> {
  const config = join(folder, 'squid.conf')
  return startListening(SQUID, (port) => {
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
    return ['-N', '-n', `bench${port}`, '-f', config]
  })
}
