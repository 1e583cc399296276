import type { LightMyRequestResponse } from 'fastify'
import { onTestFinished } from 'vitest'
import type { TestServer } from '../test-server.ts'

/**
 * Sends `count` requests that meet, however slow the machine is: another transaction keeps the
 * first from its end until `refusals` of them are answered with 429. Returns all answers.
 */
export async function sendTogether(
  { store }: TestServer,
  { count, refusals }: { readonly count: number; readonly refusals: number },
  send: () => Promise<LightMyRequestResponse>,
): Promise<LightMyRequestResponse[]> {
  const { promise: areRefused, resolve: release } = Promise.withResolvers<void>()
  onTestFinished(() => release())
  const held = store.transaction(() => areRefused)
  let refused = 0
  const answers = await Promise.all(
    Array.from({ length: count }, async () => {
      const answer = await send()
      if (answer.statusCode === 429) refused += 1
      if (refused === refusals) release()
      return answer
    }),
  )
  await held
  return answers
}
