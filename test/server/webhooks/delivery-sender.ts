import { createReachableAddresses } from '../../../server/src/webhooks/reachable-addresses.ts'
import { createSendDelivery } from '../../../server/src/webhooks/send-delivery.ts'

export const DELIVERY = { headers: { 'webhook-id': 'evt_acme_1' }, body: '{"a":"ü"}' }
export const NEVER = new AbortController().signal

export function sender(
  opened: readonly string[],
  names: Readonly<Record<string, readonly string[]>> = {},
  timeoutMs = 5000,
) {
  const asked: string[] = []
  const send = createSendDelivery({
    reachable: createReachableAddresses(opened),
    timeoutMs,
    lookup: async (name) => {
      asked.push(name)
      return names[name] ?? []
    },
  })
  return { asked, send: (url: string) => send(url, DELIVERY, NEVER) }
}
