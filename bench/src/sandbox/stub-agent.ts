import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { SandboxResult } from '../../../packages/protocol/src/index.ts'

/**
 * An agent that answers every request for a sandbox at once with a program that does nothing, to
 * measure the start of the client by itself.
 */
export async function startStubAgent(
  directory: string,
): Promise<{ readonly socketPath: string; stop(): Promise<void> }> {
  const result: SandboxResult = {
    outcome: 'ready',
    launch: { id: 'stub', program: '/bin/true', arguments: [], warnings: [] },
    error: null,
  }
  mkdirSync(directory, { mode: 0o700 })
  const socketPath = join(directory, 'agent.sock')
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(result))
    })
  })
  server.listen(socketPath)
  await once(server, 'listening')
  return {
    socketPath,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
