const PREFIX = 'whsec_'
/** Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32

/** A secret as Standard Webhooks writes it. */
export function createWebhookSecret(random: (bytes: number) => Uint8Array): string {
  return PREFIX + Buffer.from(random(SECRET_BYTES)).toString('base64')
}

/** The key in a secret of that form. */
export function keyOfWebhookSecret(secret: string): Uint8Array {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}
