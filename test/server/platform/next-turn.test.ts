import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'

it('accepts several new connections in one turn', async () => {
  let accepted = 0
  const server = createServer(() => (accepted += 1)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets = Array.from({ length: 3 }, () => connect({ port, host: '127.0.0.1' }))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  await nextTurn()

  expect(accepted).toBe(3)
})
