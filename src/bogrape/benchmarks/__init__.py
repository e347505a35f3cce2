"""Problems, experiments and speed measurements; nothing else imports from here."""
