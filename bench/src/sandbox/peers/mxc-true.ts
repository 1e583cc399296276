import { requirePeer } from '../../contenders/installed-peer.ts'

interface MxcModule {
  readonly run: (request: object) => Promise<{ readonly exitCode: number }>
}

/**
 * Runs `true` in a sandbox of MXC that reaches one proxy only. Arguments: URL of the proxy, and the
 * directory that may be written. On Linux it needs slirp4netns and iptables, and says so.
 */
const [, , networkProxy, workspace] = process.argv
const peer = requirePeer('@microsoft/mxc-sdk/v1')
if (peer === null) throw new Error('mxc-sdk is not installed')
const { run } = peer as MxcModule
const fail = ({ message }: Error): { exitCode: number } => {
  process.stderr.write(`${message}\n`)
  return { exitCode: 1 }
}
const { exitCode } = await run({
  command: 'true',
  timeoutMs: 20_000,
  filesystem: {
    readonlyPaths: ['/usr', '/bin', '/lib', '/lib64', '/etc'],
    readwritePaths: [workspace],
  },
  network: { egress: { default: 'deny' }, runtimeConfig: { networkProxy } },
}).catch(fail)
process.exitCode = exitCode
