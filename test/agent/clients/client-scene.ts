import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import { onTestFinished } from 'vitest'
import { changeEnvironment } from '../../../packages/cli/src/proxied-programs/env-command.ts'
import { proxyEnvironment } from '../../../packages/cli/src/proxied-programs/proxy-environment.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { makeCertificate } from '../../server/operations/tls/make-certificate.ts'
import { bundleOf } from '../fixture/bundle.ts'
import { startProxy, startTcpServer, type ProxyScene } from '../fixture/proxy.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { writeOriginFiles } from './origin-files.ts'
import { hasProgram } from './run-client.ts'

/** The only allowed name. */
export const ALLOWED = 'good.test'
export const DENIED = 'bad.test'

export interface ClientScene {
  readonly proxy: ProxyScene
  readonly proxyUrl: string
  /** As after `eval "$(palisade env)"`, with an empty home. */
  readonly env: Readonly<Record<string, string>>
  readonly ports: { readonly http: number; readonly https: number; readonly ssh: number }
}

/** A proxy, and servers on 127.0.0.1 that it knows as `ALLOWED`. */
export async function startClientScene(): Promise<ClientScene> {
  const folder = await temporaryDirectory()
  await writeOriginFiles(folder, hasProgram('git'))
  const answer = (request: IncomingMessage, response: ServerResponse): void =>
    serveFile(join(folder, 'files'), request.url ?? '/', response)
  const { cert, key } = makeCertificate({ name: ALLOWED })
  const ports = {
    http: await listen(createServer(answer)),
    https: await listen(createTlsServer({ cert, key }, answer)),
    ssh: await startTcpServer((socket) => socket.end('SSH-2.0-Stub\r\n')),
  }
  const names = { [ALLOWED]: ['127.0.0.1'], [DENIED]: ['127.0.0.1'] }
  const proxy = await startProxy(bundleOf(['allow', 'connect:tcp', ALLOWED, '127.0.0.1']), names)
  const proxyUrl = `http://127.0.0.1:${proxy.port}`
  const clean = {
    PATH: process.env['PATH'] ?? '',
    HOME: await temporaryDirectory(),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
  }
  const self = [process.execPath, ...BUILT_CLI]
  const changes = proxyEnvironment({ proxy: proxyUrl, env: clean, self, java: false })
  return { proxy, proxyUrl, env: changeEnvironment(clean, changes), ports }
}

export function serveFile(folder: string, url: string, response: ServerResponse): void {
  const path = join(folder, normalize(new URL(url, 'http://origin').pathname))
  const file = [path, join(path, 'index.html')].find((each) =>
    statSync(each, { throwIfNoEntry: false })?.isFile(),
  )
  if (file === undefined) {
    response.writeHead(404).end('no such file\n')
    return
  }
  if (file.endsWith('.html')) response.setHeader('content-type', 'text/html')
  response.end(readFileSync(file))
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}
