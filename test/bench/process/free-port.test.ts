import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../bench/src/process/free-port.ts'

it('returns a free port outside the ephemeral range', async () => {
  const port = await freePort()

  const listener = createServer().listen(port, '127.0.0.1')
  onTestFinished(() => void listener.close())
  await once(listener, 'listening')
  expect(port).toBeLessThan(32_768)
})
