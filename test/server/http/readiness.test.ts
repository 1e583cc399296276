import { expect, it } from 'vitest'
import { createReadiness } from '../../../server/src/http/readiness.ts'

it('is ready while the store answers', async () => {
  await expect(createReadiness(async () => undefined).check()).resolves.toBeUndefined()
})

it('is not ready while the store fails or hangs, or while the server is stopping', async () => {
  const failed = new Error('away')
  const stopping = createReadiness(async () => undefined)
  stopping.announceStop()

  await expect(createReadiness(() => Promise.reject(failed)).check()).rejects.toBe(failed)
  await expect(createReadiness(() => new Promise(() => undefined), 1).check()).rejects.toEqual(
    expect.objectContaining({ status: 503, message: 'the store does not answer' }),
  )
  await expect(stopping.check()).rejects.toEqual(expect.objectContaining({ status: 503 }))
})
