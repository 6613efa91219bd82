"""What is proved without solving: can held-out targets be answered, does training settle them?"""
