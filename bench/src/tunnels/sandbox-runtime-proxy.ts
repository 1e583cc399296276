import { requirePeer } from '../process/installed-peer.ts'

interface ProxyModule {
  readonly createHttpProxyServer: (options: { readonly filter: () => boolean }) => {
    listen(port: number, host: string): void
  }
}

/** The proxy of a sandbox for coding agents, which allows everything. Arguments: port. */
const peer = requirePeer('@anthropic-ai/sandbox-runtime/dist/sandbox/http-proxy.js')
if (peer === null) process.exit(1)
const { createHttpProxyServer } = peer as ProxyModule
createHttpProxyServer({ filter: () => true }).listen(Number(process.argv[2]), '127.0.0.1')
