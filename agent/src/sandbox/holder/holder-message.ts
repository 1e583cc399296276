/** The first argument of the program that joins connections, instead of keeping namespaces. */
export const JOIN = 'join'

/** Listeners that the holder opens in its namespace and hands over to the agent. */
export type ListenerName = 'proxy' | 'capture' | 'api' | 'dnsTcp' | 'dnsUdp'

/**
 * A message of the holder to the agent. Each listener comes with its handle, those for datagrams to
 * a port as `udp`; `ready` comes last. `failed` has a line for people.
 */
export type HolderMessage =
  | { readonly kind: 'listener'; readonly name: ListenerName }
  | { readonly kind: 'udp'; readonly port: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly problem: string }
