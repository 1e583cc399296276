import { expect, it } from 'vitest'
import { applyDocument } from '../../../../server/src/governance/document/apply-document.ts'
import { createAnswerTurns, type AnswerTurns } from '../../../../server/src/work/answer-turns.ts'

type Deps = Parameters<typeof applyDocument>[0]
type Call = Parameters<typeof applyDocument>[1]

/** A document that is no JSON, of a caller without the right to change policies. */
const CALL = {
  org: 'acme',
  principal: { kind: 'user', username: 'viola' },
  body: {
    bytes: Buffer.from('{'),
    maxBytes: 1024,
    tooLarge: false,
    contentType: 'application/json',
    contentEncoding: undefined,
  },
} as unknown as Call

function createScene(isUsedUp: boolean) {
  const events: unknown[] = []
  const turns = createAnswerTurns()
  const documents: AnswerTurns = {
    run(org, work, caller) {
      events.push(['turn of', org, caller])
      return turns.run(org, work, caller)
    },
  }
  const deps = {
    documents,
    store: {
      read: async () => ({ organization: { name: 'acme' }, permissions: [] }),
      write: async () => {
        throw new Error('refused in the transaction')
      },
    },
    budget: {
      begin(payer: unknown) {
        if (isUsedUp) throw new Error('the budget is used up')
        events.push(['charged to', payer])
        return {
          turn: async () => undefined,
          run: (piece: () => unknown) => piece(),
          end: () => void events.push('charged'),
        }
      },
    },
  } as unknown as Deps
  return { deps, events }
}

it('a document takes its turn by caller, and is charged though it is refused', async () => {
  const { deps, events } = createScene(false)

  await expect(applyDocument(deps, CALL)).rejects.toThrow('refused in the transaction')

  expect(events).toEqual([
    ['turn of', 'acme', 'user:viola'],
    ['charged to', { org: 'acme', caller: 'user:viola', isWriter: false }],
    'charged',
  ])
})

it('no document is parsed for a caller whose budget is used up', async () => {
  const { deps } = createScene(true)

  await expect(applyDocument(deps, CALL)).rejects.toThrow('the budget is used up')
})
