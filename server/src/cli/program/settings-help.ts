/** The end of `palisade-server --help`, after the commands: all settings, and examples. */
export const SETTINGS_HELP = `
Settings (environment):
  PALISADE_HOST                  address to listen on (127.0.0.1)
  PALISADE_PORT                  port to listen on, 0 for any free one (8420)
  PALISADE_DATA_DIR              directory of the database (.palisade)
  DATABASE_URL                   postgres://user:password@host/database, instead of the directory
  PALISADE_DATABASE_CONNECTIONS  connections to PostgreSQL that serve reads (10)
  PALISADE_PUBLIC_URL            origin under which devices reach the server (http(s)://host:port)
  PALISADE_TLS_CERT              PEM file of the certificate and its chain; reloaded when it changes
                                 and at SIGHUP (plain HTTP)
  PALISADE_TLS_KEY               PEM file of its key, not readable by others
  PALISADE_ACCESS_TOKEN_MINUTES  life of an access token, 1 to 60 (15)
  PALISADE_DEVICE_TOKEN_MINUTES  life of a device token, 1 to 60 (60)
  PALISADE_OIDC_ISSUER           issuer whose access tokens are accepted for users of the same name,
                                 https URL exactly as in their iss (none)
  PALISADE_OIDC_AUDIENCE         required aud of its tokens; must be set with an issuer
  PALISADE_OIDC_USERNAME_CLAIM   claim that is the username; must not be editable by users (sub)
  PALISADE_OIDC_TEAMS_CLAIM      claim with names or UUIDs of teams; users of the issuer are put
                                 into exactly these (teams do not change)
  PALISADE_LOG_LEVEL             fatal, error, warn, info, debug, trace or silent (info)
  PALISADE_TRUST_PROXY           proxies whose X-Forwarded-For is trusted: off, addresses and ranges
                                 of them, or their number if the port is reached only through them
                                 (off)
  PALISADE_STOP_DELAY_SECONDS    time to serve after SIGTERM while /readyz answers 503, so that load
                                 balancers notice, 0 to 300 (0)
  PALISADE_WEBHOOK_NETWORKS      addresses and ranges that webhooks may reach besides the public
                                 internet; plain HTTP to loopback ones only (none)
  PALISADE_METRICS               on or off: whether to serve /metrics (on)
  PALISADE_METRICS_TOKEN         bearer token required for /metrics (none)
  OTEL_EXPORTER_OTLP_ENDPOINT    collector that receives traces by OTLP over HTTP (no traces)
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT  the same, as the full URL
  OTEL_TRACES_EXPORTER           otlp: export even without an endpoint; none: no traces (unset)
  OTEL_TRACES_SAMPLER_ARG        share of traced requests, 0 to 1 (1)
  OTEL_SERVICE_NAME              name of this server in traces (palisade-server)
  PALISADE_LAST_SEEN_SECONDS     interval of writing the last polls of devices, 0 for never (60)
  PALISADE_OVERLOAD_DELAY_MS     delay of answers above which some machines are told to retry later,
                                 0 for never (250)
  PALISADE_HINT_SECONDS          time that a device waits for a hint of a change before it asks
                                 again, 1 to 50; 0 turns hints off (50)
  PALISADE_MAX_HINTS             devices that wait for hints; others poll as usual (20000)
  PALISADE_MAX_HINTS_OF_ORG      those of one organization (10000)
  PALISADE_MAX_POLICIES          policies of an organization (100)
  PALISADE_MAX_RULES             rules of a policy (250)
  PALISADE_MAX_POLICY_BYTES      bytes of a policy as JSON (409600)
  PALISADE_MAX_TOKENS_OF_USER    live personal tokens of a user (1000)
  PALISADE_MAX_TOKENS_OF_ORG     live tokens of an organization (10000)
  PALISADE_MAX_TEAMS             teams of an organization (5000)
  PALISADE_MAX_TEAMS_OF_USER     teams of one member; an issuer may name 500 (200)
  PALISADE_MAX_MEMBERS           members of an organization, including invited users (100000)
  PALISADE_MAX_DEVICES           devices of an organization, except revoked ones (500000)
  PALISADE_MAX_DEVICES_OF_USER   devices of one user, except revoked ones (200)
  PALISADE_MAX_OWN_DEVICES       devices that a member other than an owner may enrol (20)
  PALISADE_MAX_ENROLMENT_TOKENS  live enrolment tokens of an organization (10000)
  PALISADE_MAX_WEBHOOKS          webhooks of an organization (20)
  PALISADE_MAX_WRITES_PER_MINUTE    changes by one credential, a person four times (30000)
  PALISADE_MAX_OWN_WRITES_PER_HOUR  changes without a permission, such as personal tokens (600)
  PALISADE_HISTORY_DAYS          days after which events of the history are removed, 0 for never (0)
  PALISADE_MAX_HISTORY_MIB       events of an organization in MiB, 0 for no limit (4096)
  PALISADE_EVIDENCE_DAYS         days that decision records of machines are kept, 0 for ever (90)
  PALISADE_MAX_EVIDENCE_MIB      decision records of an organization in MiB, 0 for no limit (8192)
  PALISADE_MAX_EVIDENCE_MIB_OF_DEVICE  of a device in a day, 0 for no limit (32)
  PALISADE_EXPORT_OTLP_URL       where decision records go, such as https://collector:4318/v1/logs
  PALISADE_EXPORT_OTLP_HEADERS   headers for it, such as authorization=Bearer%20TOKEN
  PALISADE_EXPORT_SYSLOG         where they go as syslog: tls://host:6514 or tcp://host:601
  PALISADE_EXPORT_CA             PEM file of the authorities to trust for both, instead of the usual

Examples:
  palisade-server init --org acme --owner alice
  palisade-server start
  $ PALISADE_PORT=9000 PALISADE_DATA_DIR=/var/lib/palisade palisade-server start`
